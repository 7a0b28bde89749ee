/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader for the parts of an ELF file that symbols need: load segments, sections, build id.
 *
 * It is our own reader rather than libelf because the file may be hostile. Every offset is checked
 * and every count is bounded. Nothing is allocated or read whole only because a header says so.
 * Both classes, byte order of this machine.
 */
#ifndef JANK_SYMBOL_ELF_ELF_H
#define JANK_SYMBOL_ELF_ELF_H

#include "files/file.h"
#include "files/package.h"
#include <elf.h>

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
	uint64_t entry;		   /* address of the entry point, or 0 */
	bool has_interp;	   /* it has PT_INTERP, that is, it needs a loader */
	struct elf_segment eh_hdr; /* PT_GNU_EH_FRAME; file_size 0: none */
	struct elf_segment exidx;  /* PT_ARM_EXIDX, valid on arm; file_size 0: none */
	struct elf_segment loads[ELF_LOADS_MAX];
	size_t load_cnt;
	struct elf_section *sections;
	size_t section_cnt;
	char *names; /* section names; ends with NUL */
	size_t names_len;
	char build_id[BUILD_ID_HEX_SZ]; /* lower-case hex; "": none */
};

/*
 * Reads the headers. Borrows the image until elf__close. Broken sections are ignored. Returns 0, or
 * -ENOEXEC when it is not an ELF file of this machine's byte order.
 */
int elf__open(struct elf *elf, const struct image *img);
void elf__close(struct elf *elf);

/*
 * Reads the content of a file at an address (without bias), without relocations. Returns 0;
 * -ENOENT: the file has no content there, or less; or -errno.
 */
int elf__read(const struct elf *elf, uint64_t vaddr, void *buf, size_t len);

/* The first section with content that has this type or name, or NULL. */
const struct elf_section *elf__section_of_type(const struct elf *elf, uint32_t type);
const struct elf_section *elf__section(const struct elf *elf, const char *name);

/* The names of a symbol table, or NULL. table may be NULL. */
const struct elf_section *elf__strings_of(const struct elf *elf, const struct elf_section *table);

/*
 * Calls fn with the first `max` symbols of a table, read in pieces, so that a claimed size costs no
 * memory. Stops when fn returns non-zero, and returns that value; else 0 or -errno.
 */
typedef int (*elf_symbol_fn)(void *ctx, const Elf64_Sym *sym);
int elf__each_symbol(const struct elf *elf, const struct elf_section *table, size_t max,
		     elf_symbol_fn fn, void *ctx);

/*
 * Calls fn with each symbol of the first table of that type, and its name. At most 2^20 symbols and
 * 16 MiB of names; a larger table has none. Returns as elf__each_symbol.
 */
typedef int (*elf_named_fn)(void *ctx, const Elf64_Sym *sym, const char *name);
int elf__each_named(const struct elf *elf, uint32_t table_type, elf_named_fn fn, void *ctx);

/* Finds the address (without bias) at which a file offset is loaded. Returns 0 or -ENOENT. */
int elf__vaddr(const struct elf_segment *loads, size_t cnt, uint64_t offset, uint64_t *ret);

/* --- notes */

/*
 * Finds the first note of a type and owner (three letters and a zero) among the notes of a segment
 * or section. ret: its content, in the image.
 */
bool elf_note__find(const struct image *img, struct image_part notes, uint32_t type,
		    const char owner[4], struct image_part *ret);

/*
 * Looks for a GNU build-id note in [off, off + size). Writes it as lower-case hex to hex
 * (BUILD_ID_HEX_SZ bytes), which stays unchanged when there is none.
 */
bool buildid__find(const struct image *img, uint64_t off, uint64_t size, char *hex);

/* --- elf_package.c */

/*
 * Reads the package of an executable from its package metadata (a note with JSON, see
 * https://uapi-group.org/specifications/specs/package_metadata_for_executable_files), or that of an
 * APK from its manifest. fd: of the file, borrowed. Returns 0; -ENOENT: the file does not say; or
 * -errno.
 */
int package__of_file(int fd, struct package *ret);

#endif
