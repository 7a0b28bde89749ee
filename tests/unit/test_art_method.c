/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names and frames of compiled methods by their ArtMethod (user/symbol/languages/art_method.c), in
 * this process's memory: each layout, and each fault.
 */
#include "symbol/languages/frame_places.h"
#include "tests/tap.h"
#include "tests/unit/art_method_image.h"

static struct art_image im;
static struct dex_image dex;
static uint64_t t_ns = 1000;

static const char *name_of(enum am_version version, unsigned nr, uint32_t off)
{
	const struct place_function *function = am__place(&im, ai__addr(&im, am__code(nr) + off),
							  am__method(&im, version, nr), t_ns++);

	return function ? function->function : NULL;
}

static uint32_t frame_size(enum am_version version, unsigned nr, uint32_t *ret_saved)
{
	uint64_t pc = ai__addr(&im, am__code(nr) + 20);
	uint32_t ret;

	target_memory__begin(im.target, "/proc", getpid());
	do {
		im.reader.later = false;
		ret = language_art.frame_size(&im.art, pc, am__method(&im, version, nr), ret_saved);
	} while (im.reader.later && target_memory__fetch(im.target));
	return ret;
}

static void check_layout(enum am_version version, const char *what)
{
	static const char *const names[] = { "com.example.Main.<init>", "com.example.Main.abstract",
					     "com.example.Main.run", "com.example.Main.run" };
	const struct place_function *function;
	uint32_t saved = 0;

	am__fill(&im, &dex, version);
	for (unsigned i = 0; i < AM_CNT; i++)
		is_str(name_of(version, i, 20), names[i], "%s: method %u", what, i);
	function = am__place(&im, ai__addr(&im, am__code(0)), am__method(&im, version, 0), t_ns++);
	ok(function && function->file && !strcmp(function->file, "Main.java") && !function->line,
	   "%s: its source file, and no line", what);
	is_str(name_of(version, 0, AM_CODE_SZ - 1), names[0], "%s: the last byte", what);
	is_str(name_of(version, 0, AM_CODE_SZ), NULL, "%s: behind its code", what);
	is_str(name_of(version, 1, -1u), NULL, "%s: before its code", what);
	if (am__android(version) == AM_9) {
		is_uint(frame_size(version, 2, &saved), 0, "%s: its frame is not known", what);
		return;
	}
	is_uint(frame_size(version, 2, &saved), AM_FRAME, "%s: the size of its frame", what);
	is_uint(saved, am__saved(version), "%s: its saved registers", what);
}

/* Offsets in the ArtMethod of method 2. Others are of the image. */
enum { CLASS = 0, INDEX = 8, ENTRY = 255 };

static uint32_t place_of(enum am_version version, uint32_t at)
{
	uint32_t method = AM_METHODS + am__word(version) + 2 * am__size(version);

	return at == ENTRY  ? method + am__size(version) - am__word(version)
	       : at < ENTRY ? method + at
			    : at;
}

/* One wrong value in what is right otherwise. */
static void check_faults(enum am_version version)
{
	const struct {
		const char *what;
		uint32_t at;
		uint64_t value;
		size_t size;
	} faults[] = {
		{ "no class", CLASS, 0, 4 },
		{ "a class that is not there", CLASS, 0x1000, 4 },
		{ "an unaligned class", CLASS, 0x1001, 4 },
		{ "an index of no method", INDEX, 9, 4 },
		{ "an index of another class's method", INDEX, 4, 4 },
		{ "no entry point", ENTRY, 0, am__word(version) },
		{ "an entry point nowhere", ENTRY, UINT64_MAX, am__word(version) },
		{ "a class of fewer methods", AM_METHODS, 2, 4 },
		{ "a class of other methods", AM_CLASS + 48, 0x1000, 8 },
		{ "no cache", AM_CLASS + 16, 0, 4 },
		{ "another type", AM_CLASS + 84, 1, 4 },
		{ "another definition", AM_CLASS + 80, 2, 4 },
		{ "a definition that is none", AM_CLASS + 80, 3, 4 },
		{ "no file", AM_CACHE + 16, 0, 8 },
		{ "a file that is not there", AM_CACHE + 16, 0x1000, 8 },
		{ "a file that is no known DEX file", AM_DEX_FILE + am__word(version), 0x1000, 4 },
		{ "a stub", AM_CODE + 2 * (AM_CODE_SZ + 64) + 60, UINT32_MAX, 4 },
		{ "no CodeInfo", AM_CODE + 2 * (AM_CODE_SZ + 64) + 60, 0x40000000, 4 },
		{ "a CodeInfo of no compiled method", AM_CODE + 2 * (AM_CODE_SZ + 64), 0, 8 },
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		am__fill(&im, &dex, version);
		is_str(name_of(version, 2, 20), "com.example.Main.run", "right, before: %s",
		       faults[i].what);
		am__fill(&im, &dex, version);
		ai__set(&im, place_of(version, faults[i].at), faults[i].value, faults[i].size);
		is_str(name_of(version, 2, 20), NULL, "no name: %s", faults[i].what);
	}
}

static void check_others(void)
{
	const struct place_function *function;
	uint32_t saved;

	am__fill(&im, &dex, AM_12);
	is_str(name_of(AM_12, 3, 20), "com.example.Main.run", "a right one");
	ok(!am__place(&im, ai__addr(&im, am__code(3)), am__method(&im, AM_12, 2), t_ns++),
	   "another method's frame");
	ok(!am__place(&im, ai__addr(&im, am__code(3)), am__method(&im, AM_12, 3) + 4, t_ns++),
	   "beside a method");
	ok(!am__place(&im, ai__addr(&im, am__code(3)), 0, t_ns++), "no word");
	ok(!am__place(&im, ai__addr(&im, am__code(3)), UINT64_MAX & ~7ull, t_ns++), "no memory");
	im.file.is64 = false;
	is_uint(frame_size(AM_12, 3, &saved), 0, "layouts of 64 bits in a process of 32");
	am__fill(&im, &dex, AM_12 | AM_32);
	im.file.is64 = true;
	is_uint(frame_size(AM_12 | AM_32, 3, &saved), 0, "layouts of 32 bits in a process of 64");

	am__fill(&im, &dex, AM_12 | AM_32);
	ai__set(&im, place_of(AM_12 | AM_32, ENTRY), ai__addr(&im, am__code(2)) | 1, 4);
	is_str(name_of(AM_12 | AM_32, 2, 20), "com.example.Main.run", "code of Thumb");

	/* Merged code: the word on the stack tells which one. */
	am__fill(&im, &dex, AM_12);
	ai__set(&im, AM_METHODS + 8 + 24, ai__addr(&im, am__code(2)), 8);
	function = am__place(&im, ai__addr(&im, am__code(2)), am__method(&im, AM_12, 0), t_ns++);
	is_str(function ? function->function : NULL, "com.example.Main.<init>",
	       "code of two methods");
	is_str(name_of(AM_12, 2, 0), "com.example.Main.run", "code of two methods, the other one");

	/* The file was replaced after it was read. */
	memset(im.mem + ART_FILES + 8, 7, ART_DEX_ID);
	is_str(name_of(AM_12, 3, 20), NULL, "other bytes at the file's place");

	am__fill(&im, &dex, AM_12);
	ai__set(&im, ART_ENTRIES + 32, 5000, 8); /* the list has it since then */
	ok(!am__place(&im, ai__addr(&im, am__code(3)), am__method(&im, AM_12, 3), 4000),
	   "a stack from before the file");
}

int main(void)
{
	if (!ai__begin(&im))
		skip_all("no memory below 4 GiB");
	dex_image__make_two(&dex, DEX_IMAGE_035);
	check_layout(AM_9, "Android 9 to 11");
	check_layout(AM_12, "Android 12 to 15");
	check_layout(AM_16, "Android 16");
	check_layout(AM_9 | AM_32, "Android 9 to 11, 32 bits");
	check_layout(AM_12 | AM_32, "Android 12 to 15, 32 bits");
	check_layout(AM_16 | AM_32, "Android 16, 32 bits");
	check_faults(AM_12);
	check_faults(AM_12 | AM_32);
	check_others();
	ai__end(&im);
	return tap__done();
}
