/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the functions of an ELF symbol table into a struct symtab. */
#ifndef JANK_SYMBOL_ELF_ELFSYM_H
#define JANK_SYMBOL_ELF_ELFSYM_H

#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

/*
 * tab must be empty. Its names are made independent of the image. -ENOENT: the file has no such
 * table, or no function in it; tab is empty then.
 */
int elfsym__read(const struct elf *elf, uint32_t section_type, struct symtab *tab);

/*
 * The one object (variable, vtable) of an ELF file that an address lies in: sought when asked for,
 * since hardly any is ever asked for.
 */

/* Its name, which must begin with prefix and fit into cap. False: there is none. */
bool elfobject__find(const struct elf *elf, const char *prefix, uint64_t vaddr, char *buf,
		     size_t cap);

#endif
