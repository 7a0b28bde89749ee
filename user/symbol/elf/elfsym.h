/* SPDX-License-Identifier: GPL-2.0 */
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

#endif
