/* SPDX-License-Identifier: GPL-2.0-or-later */
/* .gnu_debugdata: a small xz-compressed ELF file inside a stripped one, with its local symbols. */
#ifndef JANK_SYMBOL_MODULES_MODULELOAD_H
#define JANK_SYMBOL_MODULES_MODULELOAD_H

#include "symbol/elf/elf.h"

/*
 * Unpacks it into malloc'ed memory that the caller owns. Returns 0; -ENOENT: none; -EFBIG: over the
 * limit; -EINVAL: broken.
 */
int debugdata__unpack(const struct elf *elf, void **ret, size_t *ret_size);

#endif
