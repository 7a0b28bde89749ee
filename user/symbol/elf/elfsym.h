/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the functions of an ELF symbol table into a struct symtab. */
#ifndef JANK_SYMBOL_ELF_ELFSYM_H
#define JANK_SYMBOL_ELF_ELFSYM_H

#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

/*
 * Reads the table of that type into tab, which must be empty. The names no longer depend on the
 * image. Returns 0 or -errno; -ENOENT: no such table, or no function in it (tab stays empty).
 */
int elfsym__read(const struct elf *elf, uint32_t section_type, struct symtab *tab);

/* --- one object (variable, vtable) at an address; searched on demand, since few are ever needed */

/*
 * Writes the name of the object at vaddr to buf. The name must begin with prefix and fit into cap.
 * Returns false when there is none.
 */
bool elfobject__find(const struct elf *elf, const char *prefix, uint64_t vaddr, char *buf,
		     size_t cap);

#endif
