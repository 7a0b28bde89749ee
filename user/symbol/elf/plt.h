/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols for the procedure linkage table: the stubs through which a module calls other modules. */
#ifndef JANK_SYMBOL_ELF_PLT_H
#define JANK_SYMBOL_ELF_PLT_H

#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

/*
 * Fills an empty tab with the stubs; each gets the name of the function it jumps to. The slot is
 * read from the stub's own instruction, so no order of entries is assumed. x86-64 and arm64 only.
 * Returns 0 or -errno; -ENOENT: no stubs (tab stays empty).
 */
int plt__read(const struct elf *elf, struct symtab *tab);

#endif
