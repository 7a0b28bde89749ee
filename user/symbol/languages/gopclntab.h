/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of Go's function table, by which Go's runtime walks stacks. Every Go program has it, also
 * when stripped.
 * Reads the formats of Go 1.18 and later. Earlier formats have another magic number and are not
 * read.
 */
#ifndef JANK_SYMBOL_LANGUAGES_GOPCLNTAB_H
#define JANK_SYMBOL_LANGUAGES_GOPCLNTAB_H

#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

struct gopclntab {
	struct image img;   /* borrowed: the ELF file's */
	uint64_t off, size; /* of the table in it */
	uint64_t text;	    /* base of the table's addresses, as linked */
	uint64_t code_end;  /* end of the code that its functions may cover */
	uint32_t func_cnt;
	uint8_t min_lc;	     /* instruction addresses are multiples of this */
	bool has_start_line; /* Go 1.20 and later */
	/* the table's parts, relative to off; each ends where the next begins */
	uint64_t names, units, files, values, funcs;
};

/* Finds the table and checks its header. 0; -ENOENT: no table, or an unknown format; or -errno. */
int gopclntab__open(struct gopclntab *go, const struct elf *elf);

/*
 * Adds the table's functions to an empty symtab. Copies the names, so that tab does not depend on
 * the image. 0; -ENODATA: the table is damaged; or -errno. On error tab is empty.
 */
int gopclntab__read(const struct gopclntab *go, struct symtab *tab);

/*
 * Returns a copy with its own descriptor; the caller frees it. NULL: out of memory or descriptors,
 * or the image is not a file.
 */
struct gopclntab *gopclntab__keep(const struct gopclntab *go);
void gopclntab__free(struct gopclntab *go); /* accepts NULL */

/*
 * Gets file and line of the code at an address (as linked). file: buffer of cap bytes for the path
 * with its NUL. Returns false when they are unknown, or when the code belongs to an inlined
 * function.
 */
bool gopclntab__line(const struct gopclntab *go, uint64_t vaddr, char *file, size_t cap,
		     uint32_t *ret_line);

#define GOPCLNTAB_DEPTH_MAX (1u << 20)

/*
 * Gets the depth of the stack pointer before the instruction at an address (as linked): bytes below
 * its value at the function's begin. is_top: no function calls this one. Returns false when the
 * depth is unknown, or when the function sets the stack pointer itself.
 */
bool gopclntab__depth(const struct gopclntab *go, uint64_t vaddr, uint32_t *ret, bool *is_top);

#endif
