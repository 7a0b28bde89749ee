/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the procedure linkage table: the stubs through which a module calls other modules. */
#ifndef JANK_SYMBOL_ELF_PLT_H
#define JANK_SYMBOL_ELF_PLT_H

#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

/*
 * Fills an empty tab with the stubs, each by the name of the function it jumps to. The stub's own
 * instruction says which slot it jumps through, so no order of entries is assumed. -ENOENT: none
 * (tab is empty then); x86-64 and arm64 only.
 */
int plt__read(const struct elf *elf, struct symtab *tab);

#endif
