/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged records of mappings, execs, forks and exits. The kernel writes them, but any user chooses
 * the file names in them.
 */
#include <linux/perf_event.h>

#include "tests/fuzz/corpus.h"
#include "uprobes/mmaps.h"

static const char *const words[] = { "/", "//anon", "[vdso]", " (deleted)", "/lib/x", NULL };

static struct {
	uint64_t kinds[MMAPS_LOST + 1], refused;
	const char *broken;
} run;

/* The size in the header is mostly that of the record; else each change of length is refused. */
static void set_size(struct corpus *c)
{
	uint16_t size = (uint16_t)c->len;

	if (c->len >= sizeof(struct perf_event_header) && !fuzz__chance(&c->fuzz, 8))
		memcpy(c->bytes + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

static void use(struct corpus *c)
{
	struct mmaps_record rec;

	set_size(c);
	if (!mmaps_record__decode(c->bytes, c->len, &rec)) {
		run.refused++;
		return;
	}
	run.kinds[rec.kind]++;
	if (rec.kind != MMAPS_LOST && rec.pid <= 0)
		run.broken = "a record without a process";
	if (rec.kind == MMAPS_MAP &&
	    (rec.map.path != rec.path || rec.path[0] != '/' ||
	     strnlen(rec.path, PATH_MAX) >= PATH_MAX || strlen(rec.path) >= c->len))
		run.broken = "a path that is not in the record";
}

int main(void)
{
	struct corpus *c = corpus__load("mmaps", 5);
	bool all = true;

	c->words = words;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	for (int kind = 0; kind <= MMAPS_LOST; kind++)
		all &= run.kinds[kind] > 0;
	ok(all && run.refused, "each kind was accepted, %llu records were refused",
	   (unsigned long long)run.refused);
	corpus__end(c);
	return tap__done();
}
