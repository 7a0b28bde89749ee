/* SPDX-License-Identifier: GPL-2.0 */
/* The known word that a mistyped one probably means. */
#include "base/nearest.h"

#include "tests/tap.h"

static const char *const known[] = {
	"threshold", "json", "journal", "redact", "redact-key", "pid"
};

/* NULL: none is near */
static const char *nearest_of(const char *word)
{
	struct nearest near;

	nearest__init(&near, word, strlen(word));
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		nearest__offer(&near, known[i], strlen(known[i]));
	return near.best;
}

static const struct {
	const char *word, *best;
} cases[] = {
	{ "thresold", "threshold" },   /* a letter is missing */
	{ "threshhold", "threshold" }, /* one too many */
	{ "threshokd", "threshold" },  /* a wrong one */
	{ "treshlod", "threshold" },   /* one missing, two swapped */
	{ "jsn", "json" },
	{ "josn", "json" }, /* a swap is one step */
	{ "JSON", "json" }, /* case is no step */
	{ "json", "json" },
	{ "redact-kye", "redact-key" },
	{ "js", NULL },	  /* two letters allow no step */
	{ "jxxn", NULL }, /* two steps in four letters */
	{ "", NULL },
	{ "pi", NULL },
	{ "frobnicate", NULL },
	{ "thresholdthresholdthresholdthreshold", NULL },
	{ "\xff\xfe\xfd", NULL },
};

int main(void)
{
	struct nearest near;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		is_str(nearest_of(cases[i].word), cases[i].best, "'%s'", cases[i].word);
	nearest__init(&near, "text", 4);
	nearest__offer(&near, "test|tent", 4);
	nearest__offer(&near, "tent", 4);
	is_str(near.best, "test|tent", "the first of two that are equally near");
	is_uint(near.best_len, 4, "… with its length");
	return tap__done();
}
