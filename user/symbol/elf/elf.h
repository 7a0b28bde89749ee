/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of an ELF file that names need: load segments, sections, build id.
 *
 * A reader of our own rather than libelf: the file may be hostile, so every offset is checked,
 * every count bounded, and nothing is allocated or read whole only because a header says so. Both
 * classes, this machine's byte order.
 */
#ifndef JANK_SYMBOL_ELF_ELF_H
#define JANK_SYMBOL_ELF_ELF_H

#include "symbol/elf/image.h"

#define ELF_LOADS_MAX	 64
#define ELF_SECTIONS_MAX 16384
#define BUILD_ID_MAX	 64 /* bytes; 20 is usual */
#define BUILD_ID_HEX_SZ	 (2 * BUILD_ID_MAX + 1)

struct elf_segment {
	uint64_t offset, vaddr, file_size;
	bool exec;
};

struct elf_section {
	uint64_t addr, offset, size, flags;
	uint32_t name, type, link, entry_size;
};

struct elf {
	struct image img;
	bool is64;
	uint16_t type, machine;
	uint64_t entry;		   /* where the program begins, or 0 */
	bool has_interp;	   /* a loader is asked for: PT_INTERP */
	struct elf_segment eh_hdr; /* PT_GNU_EH_FRAME; file_size 0: there is none */
	struct elf_segment loads[ELF_LOADS_MAX];
	size_t load_cnt;
	struct elf_section *sections;
	size_t section_cnt;
	char *names; /* of sections; NUL at the end */
	size_t names_len;
	char build_id[BUILD_ID_HEX_SZ]; /* lower-case hex, "" when there is none */
};

/* Reads headers; the image is borrowed until elf__close. -ENOEXEC: no ELF file of this machine's
 * byte order. Broken sections count as none. */
int elf__open(struct elf *elf, const struct image *img);
void elf__close(struct elf *elf);

/* The first section of a type with content, or by name; NULL when there is none. */
const struct elf_section *elf__section_of_type(const struct elf *elf, uint32_t type);
const struct elf_section *elf__section(const struct elf *elf, const char *name);

/* Finds the address that a file offset is loaded at (without bias): 0 or -ENOENT. */
int elf__vaddr(const struct elf_segment *loads, size_t cnt, uint64_t offset, uint64_t *ret);

/* Build ids: found in ELF notes, kept as lower-case hex. */

/* Looks for a GNU build-id note in the notes at [off, off + size). Writes its hex to hex (of
 * BUILD_ID_HEX_SZ bytes), which stays untouched when there is none. */
bool buildid__find(const struct image *img, uint64_t off, uint64_t size, char *hex);

#endif
