/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's own table of functions, by which its runtime walks stacks: it is in every Go program,
 * stripped or not. The forms of Go 1.18 and later; those before are told by another magic number,
 * and are not read.
 */
#ifndef JANK_SYMBOL_INTERPRETERS_GOPCLNTAB_H
#define JANK_SYMBOL_INTERPRETERS_GOPCLNTAB_H

#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

struct gopclntab {
	struct image img;   /* borrowed: the ELF file's */
	uint64_t off, size; /* of the table in it */
	uint64_t text;	    /* what its addresses are counted from, as linked */
	uint64_t code_end;  /* the last address that its functions may reach */
	uint32_t func_cnt;
	uint8_t min_lc;	     /* addresses of instructions are multiples of it */
	bool has_start_line; /* Go 1.20 and later */
	/* its parts, from off on; each ends where the next begins */
	uint64_t names, units, files, values, funcs;
};

/*
 * Finds the table and checks its header. -ENOENT: there is none, or of no form that is known; or
 * -errno.
 */
int gopclntab__open(struct gopclntab *go, const struct elf *elf);

/*
 * Its functions, into an empty table, whose names are made independent of the image. -ENODATA: it
 * is damaged; or -errno. tab is empty then.
 */
int gopclntab__read(const struct gopclntab *go, struct symtab *tab);

/*
 * A copy that has a descriptor of its own, to be freed; NULL: out of memory or of descriptors, or
 * the image is no file.
 */
struct gopclntab *gopclntab__keep(const struct gopclntab *go);
void gopclntab__free(struct gopclntab *go); /* accepts NULL */

/*
 * File and line of the byte of code at an address (as linked): file gets the path, cap bytes with
 * its NUL. False: there is none, or it is of a function that was inlined there.
 */
bool gopclntab__line(const struct gopclntab *go, uint64_t vaddr, char *file, size_t cap,
		     uint32_t *ret_line);

#define GOPCLNTAB_DEPTH_MAX (1u << 20)

/*
 * How far below its place at the function's begin the stack pointer is before the instruction at an
 * address (as linked), in bytes. is_top: nothing calls the function. False: not known, or the
 * function sets the stack pointer as it likes.
 */
bool gopclntab__depth(const struct gopclntab *go, uint64_t vaddr, uint32_t *ret, bool *is_top);

#endif
