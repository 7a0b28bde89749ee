/* SPDX-License-Identifier: GPL-2.0 */
/* Build ids: found in ELF notes, kept as lower-case hex. */
#ifndef JANK_SYMBOL_ELF_BUILDID_H
#define JANK_SYMBOL_ELF_BUILDID_H

#include "symbol/elf/image.h"

/* Looks for a GNU build-id note in the notes at [off, off + size). Writes its hex to hex (of
 * BUILD_ID_HEX_SZ bytes), which stays untouched when there is none. */
bool buildid__find(const struct image *img, uint64_t off, uint64_t size, char *hex);

#endif
