/* SPDX-License-Identifier: GPL-2.0 */
/* ART's lists of JIT code (user/symbol/languages/art.h), in this process's memory. */
#include "symbol/languages/frame_places.h"
#include "symbol/unwind/cfi.h"
#include "tests/art_image.h"
#include "tests/tap.h"

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

static void check_locks(struct art_image *im)
{
	unsigned magic = 24, lock = ART_ENTRIES + 40;

	ai__fill(im, layouts[0].file, ART_ANDROID2);
	ai__method(im, 0, code(0), "a.A.a", 10);
	ai__set(im, lock, 3, 4);
	is_str(ai__name(im, code(0), 100), NULL, "an entry that is being changed");
	ai__set(im, lock, 4, 4);
	is_str(ai__name(im, code(0), 101), "a.A.a", "the same, when it is done");
	ai__fill(im, layouts[0].file, ART_ANDROID2);
	ai__method(im, 0, code(0), "a.A.a", 10);
	ai__set(im, ART_DESCRIPTOR + magic + 20, 3, 4);
	is_str(ai__name(im, code(0), 102), NULL, "a list that is being changed");
	ai__set(im, ART_DESCRIPTOR + magic + 20, 4, 4);
	is_str(ai__name(im, code(0), 103), "a.A.a", "the same, when it is done");
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
	while (!im->art.jit.complete && stacks < 20)
		ai__name(im, code(0), 1000 + stacks++);
	ok(stacks > 1 && stacks < 5, "60 entries take %u stacks", stacks);
	is_uint(im->art.file_cnt, 60, "each was read once");
	is_str(ai__name(im, code(0), 2000), "a.A.a", "the last one");
	ai__method(im, 60, code(60), "b.B.b", 3000);
	is_str(ai__name(im, code(60), 4000), "b.B.b", "a new one");
	ok(im->art.reads_left > ART_READS - 8, "costs %u reads", ART_READS - im->art.reads_left);
	ai__name(im, code(60), 4001);
	is_uint(ART_READS - im->art.reads_left, 1, "an unchanged list costs one");
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
	ai__end(&im);
	return tap__done();
}
