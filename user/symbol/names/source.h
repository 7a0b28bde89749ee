/* SPDX-License-Identifier: GPL-2.0 */
/* What DWARF says of an address: the line, and what was inlined there. */
#ifndef JANK_SYMBOL_NAMES_SOURCE_H
#define JANK_SYMBOL_NAMES_SOURCE_H

#include "symbol/names/resolve.h"

/* Adds file, line and inlined functions to an entry of a module, for the byte at an offset of its file. */
void source__add(const struct resolver *rs, struct module *module, uint64_t file_offset,
		 struct cached *entry);

#endif
