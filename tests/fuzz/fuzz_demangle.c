/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Damaged names of C++ and Rust: a traced program chooses the names in its symbol table. The work
 * is libiberty's, so CPU time bounds it.
 */
#include "symbol/names/resolve.h"
#include "tests/fuzz/corpus.h"

static const char *const words[] = {
	"_Z",
	"_ZN",
	"_R",
	"_RNvC",
	"_RIC",
	"I",
	"E",
	"S_",
	"S0_",
	"T_",
	"T0_",
	"St",
	"Lb1E",
	"N",
	"K",
	"P",
	"R",
	"F",
	"DpT_",
	"sZT_",
	"cl",
	"dt",
	"on",
	"cv",
	"L_Z",
	"B",
	"p",
	".part.0",
	"17h0123456789abcdefE",
	"UlvE_",
	"Ul",
	"XE",
	"C1",
	"D0",
	"Dv4_f",
	NULL,
};

static struct {
	uint64_t shown, refused;
	const char *broken;
} run;

static void use(const struct corpus *c)
{
	char *name = strndup((const char *)c->bytes, c->len), buf[DEMANGLE_MAX];
	size_t len;

	if (!name)
		abort();
	len = demangle__name(name, buf, sizeof(buf));
	run.shown += len > 0;
	run.refused += !len;
	if (len && (len >= sizeof(buf) || strlen(buf) != len))
		run.broken = "another length";
	if (demangle__name(name, buf, 8) >= 8)
		run.broken = "more than there is room for";
	free(name);
}

int main(void)
{
	struct corpus *c = corpus__load("demangle", 20);

	c->words = words;
	while (corpus__next(c) && !run.broken)
		use(c);
	fuzz__ok(&c->fuzz, run.broken);
	ok(run.shown && run.refused, "%llu names were demangled, %llu were not",
	   (unsigned long long)run.shown, (unsigned long long)run.refused);
	corpus__end(c);
	return tap__done();
}
