/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged mapping.txt: it is refused with a message, or each look-up gives at most R8_FRAMES_MAX
 * frames with names, in time that grows with the file.
 */
#include "symbol/languages/r8_mapping.h"
#include "tests/fuzz/corpus.h"

#define ASKED 4 /* methods of a file */

static const char *const words[] = {
	" -> ",
	":",
	"\n",
	"    ",
	"1:1:",
	"void a()",
	"() -> a",
	"# {\"id\":\"sourceFile\",\"fileName\":\"A.kt\"}\n",
	"# {\"id\":\"com.android.tools.r8.synthesized\"}\n",
	"<init>",
	"A -> a:\n",
	"\r\n",
	"4294967296",
	":0:0 -> ",
	".",
	NULL,
};

static struct {
	uint64_t parsed, refused, frames, inlined;
	const char *broken;
} run;

static void look(struct r8_mapping *mapping, struct fuzz *f)
{
	static const char *const methods[] = { "a", "<init>", "run", "onStart", "b" };
	const struct r8_class *class = &mapping->classes[fuzz__below(f, mapping->class_cnt)];
	struct r8_frame frames[R8_FRAMES_MAX];
	char name[4096];
	size_t cnt;

	snprintf(name, sizeof(name), "%s.%s", class->given, methods[fuzz__below(f, 5)]);
	cnt = r8_mapping__retrace(mapping, name, fuzz__below(f, fuzz__chance(f, 2) ? 16 : 700),
				  frames);
	run.frames += cnt;
	run.inlined += cnt > 1;
	for (size_t i = 0; i < cnt; i++)
		if (!frames[i].function || !frames[i].function[0])
			run.broken = "a frame without a name";
}

static void use(struct corpus *c)
{
	struct r8_mapping *mapping = NULL;
	struct strbuf text = STRBUF_INIT;
	struct err err = {};

	strbuf__add(&text, c->bytes, c->len);
	if (r8_mapping__parse(&text, "mapping.txt", &mapping, &err)) {
		run.refused++;
		if (!err.msg[0])
			run.broken = "no message";
		return;
	}
	run.parsed++;
	for (unsigned i = 0; i < ASKED; i++)
		look(mapping, &c->fuzz);
	r8_mapping__free(mapping);
}

int main(void)
{
	struct corpus *c = corpus__load("r8_mapping", 60);

	c->words = words;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.parsed && run.refused && run.inlined,
	   "%llu files were read, %llu refused; %llu frames, %llu times with inlined ones",
	   (unsigned long long)run.parsed, (unsigned long long)run.refused,
	   (unsigned long long)run.frames, (unsigned long long)run.inlined);
	corpus__end(c);
	return tap__done();
}
