/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ART's list of JIT code in this process's own memory, in each of its layouts; readers find it as
 * in another process.
 */
#ifndef JANK_TESTS_ART_IMAGE_H
#define JANK_TESTS_ART_IMAGE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/languages/art.h"
#include "symbol/languages/target_memory.h"

#ifndef MAP_32BIT /* only x86-64 has it */
#define MAP_32BIT 0
#endif

#define ART_IMAGE_SZ   (56u * 4096)
#define ART_DESCRIPTOR 64u   /* offsets in the image */
#define ART_ENTRIES    4096u /* 64 bytes each */
#define ART_FILES      (16u * 4096)
#define ART_FILE_SZ    1024u
#define ART_CODE       0x41000000u /* of the methods: it need not be there */

struct art_image {
	uint8_t *mem;
	struct art_file file;
	enum art_version version;
	struct target_memory *target;
	struct frame_places places;
	struct language_reader reader;
	struct art art;
};

static inline uint64_t ai__addr(const struct art_image *im, uint32_t at)
{
	return (uint64_t)(uintptr_t)im->mem + at;
}

static inline void ai__set(struct art_image *im, uint32_t at, uint64_t value, size_t size)
{
	memcpy(im->mem + at, &value, size);
}

static inline size_t ai__word(const struct art_image *im)
{
	return im->file.is64 ? 8 : 4;
}

/* Memory below 4 GiB, for 32-bit pointers. Returns false where there is none. */
static inline bool ai__begin(struct art_image *im)
{
	*im = (struct art_image){ 0 };
	im->mem = mmap(NULL, ART_IMAGE_SZ, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	im->target = target_memory__new();
	return im->mem != MAP_FAILED && (uint64_t)(uintptr_t)im->mem <= UINT32_MAX && im->target;
}

static inline void ai__end(struct art_image *im)
{
	language_art.end(memcpy(malloc(sizeof(im->art)), &im->art, sizeof(im->art)));
	frame_places__free(&im->places);
	target_memory__free(im->target);
	munmap(im->mem, ART_IMAGE_SZ);
}

/* An empty list of this layout, and a process that has it. */
static inline void ai__fill(struct art_image *im, struct art_file file, enum art_version version)
{
	static const char *const magics[] = { "", "Android1", "Android2" };
	size_t magic = file.is64 ? 24 : 16;
	static const uint32_t sizes[3][3] = { { 0, 0, 0 }, { 40, 32, 28 }, { 48, 40, 32 } };

	memset(im->mem, 0, ART_IMAGE_SZ);
	im->file = file;
	im->version = version;
	ai__set(im, ART_DESCRIPTOR, 1, 4);
	memcpy(im->mem + ART_DESCRIPTOR + magic, magics[version], strlen(magics[version]));
	ai__set(im, ART_DESCRIPTOR + magic + 16,
		sizes[version][file.is64   ? 0
			       : file.wide ? 1
					   : 2],
		4);
	for (size_t i = 0; i < im->art.file_cnt; i++)
		art_symfile__free(&im->art.files[i]);
	free(im->art.files);
	free(im->art.jit.known);
	art_dex__free(&im->art);
	im->reader = (struct language_reader){
		.mem = im->target, .places = &im->places, .proc = "/proc", .pid = getpid()
	};
	im->art = (struct art){ .file = &im->file, .reader = &im->reader };
	im->art.jit.descriptor = ai__addr(im, ART_DESCRIPTOR);
}

/* Says that the list was changed. */
static inline void ai__change(struct art_image *im, uint64_t ts_ns)
{
	size_t magic = im->file.is64 ? 24 : 16;
	uint32_t lock;

	if (im->version == ART_OLD)
		return;
	memcpy(&lock, im->mem + ART_DESCRIPTOR + magic + 20, 4);
	ai__set(im, ART_DESCRIPTOR + magic + 20, lock + 2, 4);
	ai__set(im, ART_DESCRIPTOR + magic + 24, ts_ns, 8);
}

/* Puts entry nr in front. size 0: without a file. */
static inline void ai__add(struct art_image *im, unsigned nr, uint32_t size, uint64_t ts_ns)
{
	uint32_t at = ART_ENTRIES + 64 * nr, off = im->file.is64 ? 24 : im->file.wide ? 16 : 12;
	uint32_t first = ART_DESCRIPTOR + (im->file.is64 ? 16 : 12);

	memcpy(im->mem + at, im->mem + first, ai__word(im));
	ai__set(im, at + 2 * ai__word(im), size ? ai__addr(im, ART_FILES + nr * ART_FILE_SZ) : 0,
		ai__word(im));
	ai__set(im, at + off, size, 8);
	if (im->version >= ART_ANDROID1)
		ai__set(im, at + off + 8, ts_ns, 8);
	if (im->version == ART_ANDROID2)
		ai__set(im, at + off + 16, 2, 4);
	ai__set(im, first, ai__addr(im, at), ai__word(im));
	ai__change(im, ts_ns);
}

/* .debug_frame of one method of 0x40 bytes, which moves the stack pointer by 32 after a byte. */
#define ART_FRAME_START 28
static const uint8_t art_frames[] = {
	16,   0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16,   0x0c, 7,  8,
	0x90, 1, 0, 0, 24,   0,	   0,	 0,    0, 0, 0, 0,    0,    0,	  0,  0,
	0,    0, 0, 0, 0x40, 0,	   0,	 0,    0, 0, 0, 0,    0x41, 0x0e, 40, 0,
};

#define ART_NAMES "\0.text\0.symtab\0.strtab\0.debug_frame"

/* The file of a 32-bit process; len: of its names. */
static inline void ai__file32(uint8_t *file, uint64_t addr, uint32_t len)
{
	uint32_t names = 512, syms = 256, heads = 640;
	Elf32_Ehdr elf = { .e_ident = ELFMAG "\1\1\1",
			   .e_type = ET_DYN,
			   .e_version = 1,
			   .e_machine = EM_386,
			   .e_ehsize = sizeof(elf),
			   .e_shoff = heads,
			   .e_shentsize = sizeof(Elf32_Shdr),
			   .e_shnum = 4,
			   .e_shstrndx = 3 };
	Elf32_Sym sym = {
		sizeof(ART_NAMES), addr, 0x40, ELF32_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1
	};
	Elf32_Shdr sections[4] = {
		{ 0 },
		{ 1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, addr, 64, 0x40, 0, 0, 1, 0 },
		{ 7, SHT_SYMTAB, 0, 0, syms, 2 * sizeof(sym), 3, 0, 4, sizeof(sym) },
		{ 15, SHT_STRTAB, 0, 0, names, len, 0, 0, 1, 0 },
	};

	memcpy(file, &elf, sizeof(elf));
	memcpy(file + syms + sizeof(sym), &sym, sizeof(sym));
	memcpy(file + heads, sections, sizeof(sections));
}

/* Writes the file of entry nr: one method of 0x40 bytes. Returns its size. */
static inline uint32_t ai__file(struct art_image *im, unsigned nr, uint64_t addr, const char *name)
{
	static const char strings[] = ART_NAMES;
	uint8_t *file = im->mem + ART_FILES + nr * ART_FILE_SZ;
	uint32_t names = 512, syms = 256, heads = 640, frames = 384, len = strlen(name) + 1;

	memset(file, 0, ART_FILE_SZ);
	memcpy(file + names, strings, sizeof(strings));
	memcpy(file + names + sizeof(strings), name, len);
	len += sizeof(strings);
	if (im->file.is64) {
		Elf64_Ehdr elf = { .e_ident = ELFMAG "\2\1\1",
				   .e_type = ET_DYN,
				   .e_version = 1,
				   .e_machine = EM_X86_64,
				   .e_ehsize = sizeof(elf),
				   .e_shoff = heads,
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shnum = 5,
				   .e_shstrndx = 3 };
		Elf64_Sym sym = {
			sizeof(strings), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, addr, 0x40
		};
		Elf64_Shdr sections[5] = {
			{ 0 },
			{ 1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, addr, 64, 0x40, 0, 0, 1, 0 },
			{ 7, SHT_SYMTAB, 0, 0, syms, 2 * sizeof(sym), 3, 0, 8, sizeof(sym) },
			{ 15, SHT_STRTAB, 0, 0, names, len, 0, 0, 1, 0 },
			{ 23, SHT_PROGBITS, 0, 0, frames, sizeof(art_frames), 0, 0, 1, 0 },
		};

		memcpy(file, &elf, sizeof(elf));
		memcpy(file + syms + sizeof(sym), &sym, sizeof(sym));
		memcpy(file + heads, sections, sizeof(sections));
		memcpy(file + frames, art_frames, sizeof(art_frames));
		memcpy(file + frames + ART_FRAME_START, &addr, sizeof(addr));
	} else {
		ai__file32(file, addr, len);
	}
	return ART_FILE_SZ;
}

static inline void ai__method(struct art_image *im, unsigned nr, uint64_t addr, const char *name,
			      uint64_t ts_ns)
{
	ai__add(im, nr, ai__file(im, nr, addr, name), ts_ns);
}

/*
 * The name at an address, by a stack of a time. NULL: none; *ret_missed (may be NULL): since not
 * all could be read, which is counted.
 */
static inline const char *ai__look(struct art_image *im, uint64_t pc, uint64_t t_ns,
				   bool *ret_missed)
{
	struct native_frame frame = { .pc = pc, .exact = true };
	const struct frame_place *place = NULL;
	uint64_t key;
	bool found;

	im->reader.at_ns = t_ns;
	target_memory__begin(im->target, "/proc", getpid());
	found = language_art.place(&im->art, &frame, &key);
	if (found)
		place = frame_places__find(&im->places, key);
	if (ret_missed)
		*ret_missed = found && !place;
	return place ? place->functions[0].function : NULL;
}

static inline const char *ai__name(struct art_image *im, uint64_t pc, uint64_t t_ns)
{
	return ai__look(im, pc, t_ns, NULL);
}

#endif
