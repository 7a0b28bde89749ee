/* SPDX-License-Identifier: GPL-2.0 */
/* The one object (variable, vtable) of an ELF file that an address lies in: sought when asked for, since
 * hardly any is ever asked for. */
#ifndef JANK_SYMBOL_ELF_ELFOBJECT_H
#define JANK_SYMBOL_ELF_ELFOBJECT_H

#include "symbol/elf/elf.h"

/* Its name, which must begin with prefix and fit into cap. False: there is none. */
bool elfobject__find(const struct elf *elf, const char *prefix, uint64_t vaddr, char *buf,
		     size_t cap);

#endif
