/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of interpreted methods (user/symbol/languages/art_dex.c): DEX files of this process, listed
 * as ART does, or only mapped.
 */
#include <fcntl.h>

#include "base/clock.h"
#include "files/unread.h"
#include "symbol/languages/frame_places.h"
#include "tests/tap.h"
#include "tests/unit/art_image.h"
#include "tests/unit/dex_image.h"
#include "tests/unit/scratch.h"
#include "tests/unit/zip_writer.h"

#define PAGE 4096u

static struct art_image im;
static struct dex_image dex;
static void begin(void)
{
	static const struct art_file file = { .is64 = true, .wide = true };

	ai__fill(&im, file, ART_ANDROID2);
	frame_places__free(&im.places);
	im.art.jit.descriptor = 0;
	im.art.dex_list.descriptor = ai__addr(&im, ART_DESCRIPTOR);
}

static void list(unsigned nr, const void *at, size_t size, uint64_t ts_ns)
{
	uint64_t symfile = (uintptr_t)at;

	ai__add(&im, nr, size, ts_ns);
	ai__set(&im, ART_ENTRIES + 64 * nr + 16, symfile, 8);
}

static const struct place_function *place_at(uint64_t at, bool begins, uint64_t t_ns)
{
	struct native_frame frame = { .in_file = true, .dex = at, .dex_begins = begins };
	const struct frame_place *place;
	uint64_t key;

	im.reader.at_ns = t_ns;
	im.reader.cut = false;
	target_memory__begin(im.target, "/proc", getpid());
	if (!language_art.place(&im.art, &frame, &key))
		return NULL;
	place = frame_places__find(&im.places, key);
	return place ? &place->functions[0] : NULL;
}

/* "class.method(file:line)" of a place in this memory; "": it has no name. */
static const char *name_at(const uint8_t *at)
{
	static char text[1024];
	const struct place_function *function = place_at((uintptr_t)at, false, clock__mono_ns());

	text[0] = '\0';
	if (function && function->function)
		snprintf(text, sizeof(text), "%s(%s:%u)", function->function, function->file ?: "-",
			 function->line);
	return text;
}

static void check_all(const uint8_t *at, const char *what)
{
	const uint32_t *insns = dex.insns[0];

	is_str(name_at(at + insns[0]), "com.example.Main.<init>(Main.java:10)", "%s: a method",
	       what);
	is_str(name_at(at + insns[2] + 2 * 39), "com.example.Main.run(Main.java:46)",
	       "%s: the last unit of another", what);
	is_str(name_at(at + insns[3] + 2), "com.example.Main.run(Main.java:300)", "%s: an overload",
	       what);
	is_str(name_at(at + insns[6] + 2), "a.b.large(-:1000)", "%s: no source file", what);
	is_str(name_at(at + insns[7]), "com.example.Main$1.onClick(Main.java:70)",
	       "%s: an inner class", what);
	is_str(name_at(at + insns[4]), "", "%s: code that three methods share", what);
	is_str(name_at(at + insns[0] - 4), "", "%s: between methods", what);
}

static void check_memory(void)
{
	uint8_t *at = mmap(NULL, DEX_IMAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	const struct place_function *function;

	begin();
	dex_image__make_two(&dex, DEX_IMAGE_035);
	memcpy(at, dex.bytes, dex.len);
	list(0, at, dex.len, 0);
	list(1, &im, 64, 0); /* no DEX file */
	check_all(at, "in memory");
	function = place_at((uintptr_t)at + dex.insns[0][2], true, clock__mono_ns());
	ok(function && function->function && !function->line && function->interpreted,
	   "the switch interpreter tells no line");
	is_str(name_at(at + dex.insns[0][2] + 4), "com.example.Main.run(Main.java:20)",
	       "but nterp does");
	im.art.dex_time = (struct bucket){ .left = 1, .at_ns = clock__mono_ns() };
	is_str(name_at(at + dex.insns[0][0] + 4), "com.example.Main.<init>(Main.java:10)",
	       "an index that is there costs nothing");
	munmap(at, DEX_IMAGE_SZ);
	is_str(name_at(at + dex.insns[0][0] + 2), "", "memory that is gone");
}

/* The pages of a file need not be present in the process. */
static const uint8_t *map_file(const char *name, const void *bytes, size_t len, size_t off)
{
	const char *path = scratch__write(name, bytes, len);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, len - off, PROT_READ, MAP_SHARED, fd, off);

	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static void check_file(enum dex_image_kind kind, const char *what)
{
	static uint8_t content[PAGE + DEX_IMAGE_SZ];
	const uint8_t *at;

	begin();
	dex_image__make_two(&dex, kind);
	memcpy(content + PAGE, dex.bytes, DEX_IMAGE_SZ);
	at = map_file("classes.dex", content, sizeof(content), PAGE);
	list(0, at, dex.len, 0);
	check_all(at, what);
}

/* Without a list: what is mapped tells where the file begins. */
static void check_unlisted(void)
{
	static uint8_t vdex[PAGE + 2 * DEX_IMAGE_SZ] = "vdex";
	static struct zip_writer zip;
	uint32_t off;
	const uint8_t *at;

	begin();
	dex_image__make_two(&dex, DEX_IMAGE_035);
	memcpy(vdex + 52, dex.bytes, dex.len);
	off = (52 + dex.len + 3) & ~3u;
	memcpy(vdex + off, dex.bytes, dex.len);
	at = map_file("base.vdex", vdex, sizeof(vdex), 0);
	is_str(name_at(at + 52 + dex.insns[0][0]), "", "a stack from before it was known");
	is_str(name_at(at + off + dex.insns[0][0]), "", "the same, of its second file");
	check_all(at + 52, "a .vdex");
	check_all(at + off, "the second file of it");

	begin();
	off = zip__add(&zip, "classes.dex", dex.bytes, dex.len, 0, 4);
	zip__finish(&zip, "");
	at = map_file("base.apk", zip.bytes, zip.len, off / PAGE * PAGE);
	name_at(at + off % PAGE + dex.insns[0][0]);
	check_all(at + off % PAGE, "a stored entry of an archive");

	begin();
	dex_image__make_two(&dex, DEX_IMAGE_041);
	at = map_file("container.dex", dex.bytes, DEX_IMAGE_SZ, 0);
	name_at(at + dex.insns[0][0]);
	check_all(at, "a container");
	is_str(name_at(at + dex.insns[1][0]), "com.example.Other.get(Other.kt:5)",
	       "the second file of it");

	begin();
	is_str(name_at((const uint8_t *)&im), "", "memory without a DEX file");
}

/* Another file at the place of an earlier one. */
static void check_replaced(void)
{
	uint8_t *at = mmap(NULL, DEX_IMAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	const struct place_function *function;
	uint64_t before, since;

	begin();
	dex_image__make_two(&dex, DEX_IMAGE_035);
	memcpy(at, dex.bytes, dex.len);
	memset(at + 8, 1, ART_DEX_ID);
	before = clock__mono_ns();
	list(0, at, dex.len, before);
	is_str(name_at(at + dex.insns[0][0]), "com.example.Main.<init>(Main.java:10)",
	       "a file of the list");
	before = clock__mono_ns();
	memset(at + 8, 2, ART_DEX_ID);
	memcpy(memmem(at, dex.len, "onClick", 7), "another", 7);
	is_str(name_at(at + dex.insns[0][7]), "", "other bytes at its place: no name of theirs");
	since = clock__mono_ns();
	ai__set(&im, ART_ENTRIES + 40, 5, 4); /* removed */
	list(1, at, dex.len, since);
	ai__set(&im, ART_ENTRIES + 64, 0, 8);
	is_str(name_at(at + dex.insns[0][7]), "com.example.Main$1.another(Main.java:70)",
	       "when the list has them, they have names");
	function = place_at((uintptr_t)at + dex.insns[0][7] + 2, false, before);
	ok(!function || !function->function, "but not for a stack from before");
	munmap(at, DEX_IMAGE_SZ);
}

/* A file that was never read before it went. */
static void check_gone(void)
{
	const uint8_t *at;

	begin();
	dex_image__make_two(&dex, DEX_IMAGE_035);
	at = map_file("x.dex", dex.bytes, DEX_IMAGE_SZ, 0);
	list(0, at, 0x70, clock__mono_ns()); /* not where the bytecode is */
	name_at(at + dex.insns[0][0]);
	is_str(name_at(at + dex.insns[0][0]), "com.example.Main.<init>(Main.java:10)",
	       "bytecode outside of each listed file: found by the mapping");
	begin();
	list(0, at, dex.len, clock__mono_ns());
	list(1, at + PAGE, 0x70, clock__mono_ns());
	place_at((uintptr_t)at + 2 * DEX_IMAGE_SZ, false, clock__mono_ns()); /* walks the list */
	ai__set(&im, ART_ENTRIES + 40, 3, 4);
	is_str(name_at(at + dex.insns[0][0]), "", "a file that was removed before it was read");
}

static void check_limits(void)
{
	uint64_t before = unread__cnt();
	uint8_t *at = mmap(NULL, DEX_IMAGE_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	begin();
	dex_image__make_two(&dex, DEX_IMAGE_035);
	memcpy(at, dex.bytes, dex.len);
	list(0, at, dex.len, 0);
	im.art.dex_time = (struct bucket){ .left = 1, .at_ns = clock__mono_ns() };
	is_str(name_at(at + dex.insns[0][0]), "", "no time left");
	ok(im.reader.cut, "which is told");
	im.art.dex_time = (struct bucket){};
	is_str(name_at(at + dex.insns[0][0]), "com.example.Main.<init>(Main.java:10)",
	       "the same, with time again");
	is_uint(unread__cnt() - before, 0, "nothing is unread");
	begin();
	at[4] = '9'; /* version 935 */
	list(0, at, dex.len, 0);
	is_str(name_at(at + dex.insns[0][0]), "", "an unknown version");
	is_uint(unread__cnt() - before, 2, "which is counted: the file, and the bytecode");
	name_at(at + dex.insns[0][2]);
	is_uint(unread__cnt() - before, 2, "once");
	is_uint(im.art.dex_cnt, 1, "and not looked for again");
	munmap(at, DEX_IMAGE_SZ);
}

int main(void)
{
	scratch__init();
	if (!ai__begin(&im))
		skip_all("no memory below 4 GiB");
	check_memory();
	check_file(DEX_IMAGE_035, "a file");
	check_file(DEX_IMAGE_COMPACT, "CompactDex");
	check_file(DEX_IMAGE_041, "a container");
	check_unlisted();
	check_replaced();
	check_gone();
	check_limits();
	ai__end(&im);
	return tap__done();
}
