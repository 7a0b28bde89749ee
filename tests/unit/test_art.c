/* SPDX-License-Identifier: GPL-2.0 */
/* ART's lists of JIT code (user/symbol/languages/art.h), in this process's memory. */
#include "symbol/languages/frame_places.h"
#include "symbol/unwind/cfi.h"
#include "tests/tap.h"
#include "tests/unit/art_image.h"

static const struct {
	const char *name;
	struct art_file file;
} layouts[] = {
	{ "64 bit", { .is64 = true, .wide = true } },
	{ "arm64", { .is64 = true, .wide = true, .tagged = true } },
	{ "arm", { .wide = true } },
	{ "x86", {} },
};
static const char *const versions[] = { "Android 8", "Android1", "Android2" };

static uint64_t code(unsigned nr)
{
	return ART_CODE + 0x40 * nr;
}

static void check_layout(struct art_image *im, unsigned layout, enum art_version version)
{
	const char *what = layouts[layout].name, *of = versions[version];
	bool has_time = version != ART_OLD;

	ai__fill(im, layouts[layout].file, version);
	ai__method(im, 0, code(0), "a.Zygote.loop", 100);
	ai__add(im, 1, 0, 110); /* the two entries between */
	ai__add(im, 2, 0, 120);
	ai__method(im, 3, code(1), "a.b.C.run", 200);
	if (layouts[layout].file.tagged)
		im->mem[ART_ENTRIES + 64 * 3 + 7] = 0xb4; /* the link to the next */
	is_str(ai__name(im, code(1) + 4, 1000), "a.b.C.run", "%s, %s: the newest", what, of);
	is_str(ai__name(im, code(0), 1000), "a.Zygote.loop", "%s, %s: the zygote's", what, of);
	is_str(ai__name(im, code(1) + 0x40, 1000), NULL, "%s, %s: behind it", what, of);
	is_str(ai__name(im, code(1), has_time ? 150 : 1000), has_time ? NULL : "a.b.C.run",
	       "%s, %s: a time before it", what, of);
	ai__method(im, 4, code(1), "d.E.other", 2000);
	is_str(ai__name(im, code(1), 3000), has_time ? "d.E.other" : NULL,
	       "%s, %s: its place was taken%s", what, of,
	       has_time ? "" : ": which one is not known");
	if (has_time)
		is_str(ai__name(im, code(1), 1500), "a.b.C.run", "%s, %s: an older stack", what,
		       of);
	is_uint(im->art.file_cnt, 3, "%s, %s: each file was read once", what, of);
}

/* A name is missing, and whether that is counted. */
static void check_missed(struct art_image *im, uint64_t pc, uint64_t t_ns, bool counted,
			 const char *what)
{
	bool missed;
	const char *name = ai__look(im, pc, t_ns, &missed);

	ok(!name && missed == counted, "%s: no name, %s", what,
	   counted ? "which is counted" : "which is certain");
}

static void check_locks(struct art_image *im)
{
	unsigned magic = 24, lock = ART_ENTRIES + 40;

	ai__fill(im, layouts[0].file, ART_ANDROID2);
	ai__method(im, 0, code(0), "a.A.a", 10);
	ai__set(im, lock, 3, 4);
	check_missed(im, code(0), 100, true, "an entry that is being changed");
	ai__set(im, lock, 4, 4);
	is_str(ai__name(im, code(0), 101), "a.A.a", "the same, when it is done");
	ai__fill(im, layouts[0].file, ART_ANDROID2);
	ai__method(im, 0, code(0), "a.A.a", 10);
	ai__set(im, ART_DESCRIPTOR + magic + 20, 3, 4);
	check_missed(im, code(0), 102, true, "a list that is being changed");
	ai__set(im, ART_DESCRIPTOR + magic + 20, 4, 4);
	is_str(ai__name(im, code(0), 103), "a.A.a", "the same, when it is done");
	check_missed(im, code(9), 103, false, "no method's address");
	/* A removed entry is used again, for another file at another place of the list. */
	memset(im->mem + ART_DESCRIPTOR + 16, 0, 8);
	ai__method(im, 1, code(1), "b.B.b", 20);
	ai__method(im, 0, code(2), "c.C.c", 30);
	ai__set(im, lock, 6, 4);
	is_str(ai__name(im, code(2), 104), "c.C.c", "an entry that is used again");
	is_str(ai__name(im, code(1), 104), "b.B.b", "and the one behind it");
	is_str(ai__name(im, code(0), 104), NULL, "what it was before may have been replaced");
}

/* Distance from the stack pointer to its value in the caller at an address; -1: no table. */
static int depth_at(struct art_image *im, uint64_t pc, uint64_t t_ns)
{
	const struct cfi_row *row;
	struct cfi *cfi;

	im->reader.at_ns = t_ns;
	target_memory__begin(im->target, "/proc", getpid());
	row = language_art.row(&im->art, pc, true, &cfi);
	return row && row->has_table && row->cfa.reg == 7 ? row->cfa.value : -1;
}

static void check_tables(struct art_image *im)
{
	ai__fill(im, layouts[0].file, ART_ANDROID2);
	for (unsigned i = 0; i < 2 * ART_CFI_MAX; i++)
		ai__method(im, i, code(i), "a.A.a", 10 + i);
	is_int(depth_at(im, code(0), 1000), 8, "the first byte of a method");
	is_int(depth_at(im, code(0) + 1, 1000), 40, "the rest of it");
	is_int(depth_at(im, code(1) + 1, 1000), 40, "another one");
	is_int(depth_at(im, code(200), 1000), -1, "no method");
	for (unsigned i = 0; i < 2 * ART_CFI_MAX; i++)
		depth_at(im, code(i), 2000 + i);
	is_uint(im->art.cfi_cnt, ART_CFI_MAX, "not more tables are open");
	is_int(depth_at(im, code(0) + 1, 3000), 40, "one that was closed");
	ai__set(im, ART_DESCRIPTOR + 24 + 20, 7, 4);
	is_int(depth_at(im, code(0) + 1, 4000), -1, "a list that is being changed");
}

static void check_refused(struct art_image *im)
{
	ai__fill(im, layouts[0].file, ART_ANDROID2);
	ai__method(im, 0, code(0), "a.A.a", 10);
	ai__set(im, ART_DESCRIPTOR + 24 + 16, 56, 4);
	is_str(ai__name(im, code(0), 100), NULL, "an entry of another size: a new layout");
	ai__set(im, ART_DESCRIPTOR + 24 + 16, 48, 4);
	ai__set(im, ART_DESCRIPTOR, 2, 4);
	is_str(ai__name(im, code(0), 101), NULL, "another version");
	ai__set(im, ART_DESCRIPTOR, 1, 4);
	ai__set(im, ART_FILES, 0, 4);
	is_str(ai__name(im, code(0), 102), NULL, "a file that is no ELF file");
	ai__add(im, 1, ART_SYMFILE_MAX + 1, 20);
	ai__method(im, 2, code(1), "a.B.b", 30);
	is_str(ai__name(im, code(1), 103), "a.B.b", "and files that follow it, and one too large");
	ai__method(im, 3, code(3), "art_jni_trampoline", 40);
	is_str(ai__name(im, code(3), 104), "art_jni_trampoline", "a trampoline");
}

/* A list without an end costs the reads of a stack, and no more. */
static void check_cycles(struct art_image *im)
{
	ai__fill(im, layouts[0].file, ART_ANDROID2);
	for (unsigned i = 0; i < 40; i++)
		ai__method(im, i, code(i), "a.A.a", 10 + i);
	ai__set(im, ART_ENTRIES, ai__addr(im, ART_ENTRIES + 64 * 39), 8);
	is_str(ai__name(im, code(0), 100), "a.A.a", "a cycle: its entries are known");
	is_uint(im->art.file_cnt, 40, "a cycle: each once");
	ok(!im->art.jit.resume, "a cycle: the walk ends");
}

/* More entries than one stack may read: the rest comes with later stacks. */
static void check_many(struct art_image *im)
{
	unsigned stacks = 0;

	ai__fill(im, layouts[0].file, ART_ANDROID2);
	for (unsigned i = 0; i < 60; i++)
		ai__method(im, i, code(i), "a.A.a", 10 + i);
	im->art.walked = true;
	im->art.stack_ns = 1;
	check_missed(im, code(0), 999, true, "the first of them");
	while (!im->art.jit.complete && stacks < 20)
		ai__name(im, code(0), 1000 + stacks++);
	ok(stacks && stacks < 5, "60 entries take %u stacks", stacks + 1);
	is_uint(im->art.file_cnt, 60, "each was read once");
	is_str(ai__name(im, code(0), 2000), "a.A.a", "the last one");
	ai__method(im, 60, code(60), "b.B.b", 3000);
	is_str(ai__name(im, code(60), 4000), "b.B.b", "a new one");
	ok(im->art.reads_left > ART_READS - 8, "costs %u reads", ART_READS - im->art.reads_left);
	ai__name(im, code(60), 4001);
	is_uint(ART_READS - im->art.reads_left, 1, "an unchanged list costs one");
}

/* The one method that stays, and one that an app compiles, in the place of the one before. */
static void compile(struct art_image *im, unsigned nr, uint64_t ts_ns)
{
	char name[32];

	snprintf(name, sizeof(name), "a.A.m%u", nr);
	ai__set(im, ART_DESCRIPTOR + 16, ai__addr(im, ART_ENTRIES + 64 * 8), 8);
	ai__method(im, nr % 8, code(nr % 8), name, ts_ns);
}

/* An app that compiles and removes methods for days: twice as many as there is room for. */
static void check_days(struct art_image *im)
{
	unsigned last = 2 * ART_ENTRIES_MAX, missing = 0, wrong = 0;
	size_t most = 0;

	ai__fill(im, layouts[0].file, ART_ANDROID2);
	ai__method(im, 8, code(8), "b.B.stays", 10);
	for (unsigned i = 0; i < last; i++) {
		char want[32];
		const char *name;

		compile(im, i, 100 + 10 * i);
		snprintf(want, sizeof(want), "a.A.m%u", i);
		name = ai__name(im, code(i % 8), 105 + 10 * i);
		missing += !name;
		wrong += name && strcmp(name, want);
		most = im->art.bytes > most ? im->art.bytes : most;
	}
	is_uint(wrong, 0, "days: no name is of another method");
	ok(missing <= 8, "days: %u of %u had no name, while removed ones were looked for", missing,
	   last);
	is_str(ai__name(im, code(8), 10ull * last + 200), "b.B.stays", "days: the one that stays");
	ok(im->art.file_cnt <= ART_ENTRIES_MAX && most < 2 * ART_BYTES_MAX &&
		   im->art.jit.cnt == im->art.file_cnt,
	   "days: at most %zu KB are kept", most >> 10);
}

/* As many as there is room for, and all of them stay: new ones get no names, these keep theirs. */
static void check_full(struct art_image *im)
{
	unsigned before;

	ai__fill(im, layouts[0].file, ART_ANDROID2);
	ai__method(im, 8, code(8), "b.B.stays", 10);
	is_str(ai__name(im, code(8), 50), "b.B.stays", "full: a method");
	im->art.jit.full = true;
	ai__method(im, 1, code(1), "c.C.new", 100);
	is_str(ai__name(im, code(1), 200), NULL, "full: a new one");
	is_str(ai__name(im, code(8), 201), "b.B.stays", "full: the one that is known");
	before = im->art.jit.full_cnt;
	ai__name(im, code(8), 202);
	ok(im->art.jit.full && im->art.jit.full_cnt == before + 1,
	   "full: it is not looked for removed ones at each stack");
	ai__set(im, ART_ENTRIES + 64 * 8 + 40, 7, 4);
	ai__change(im, 300);
	is_str(ai__name(im, code(8), 301), NULL, "full: one that is removed");
	for (unsigned i = 0; i < ART_FULL_STACKS; i++)
		ai__name(im, code(1), 400 + i);
	is_str(ai__name(im, code(1), 500), "c.C.new", "full: then the new one has room");
}

int main(void)
{
	struct art_image im;

	if (!ai__begin(&im))
		skip_all("no memory below 4 GiB");
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		for (unsigned v = ART_OLD; v <= ART_ANDROID2; v++)
			check_layout(&im, i, v);
	check_locks(&im);
	check_tables(&im);
	check_refused(&im);
	check_cycles(&im);
	check_many(&im);
	check_days(&im);
	check_full(&im);
	ai__end(&im);
	return tap__done();
}
