/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of an ELF file's functions into a struct symtab. */
#ifndef JANK_SYMBOL_ELF_ELFSYM_H
#define JANK_SYMBOL_ELF_ELFSYM_H

#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

/*
 * Reads the table of that type into tab, which must be empty. The names no longer depend on the
 * image. Returns 0 or -errno; -ENOENT: no such table, or no function in it (tab stays empty).
 */
int elfsym__read(const struct elf *elf, uint32_t section_type, struct symtab *tab);

/*
 * Fills an empty tab with the stubs of the procedure linkage table, through which a module calls
 * other modules; each gets the name of the function it jumps to. The slot is
 * read from the stub's own instruction, so no order of entries is assumed. x86-64 and arm64 only.
 * Returns 0 or -errno; -ENOENT: no stubs (tab stays empty).
 */
int plt__read(const struct elf *elf, struct symtab *tab);

#endif
