/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate debug files, found by build id or by the name in .gnu_debuglink. */
#ifndef JANK_SYMBOL_ELF_DEBUGFILE_H
#define JANK_SYMBOL_ELF_DEBUGFILE_H

#include "symbol/elf/elf.h"
#include "symbol/modules/fetch.h"

/* Places to search for a debug file. */
struct debugfile_places {
	const char *debug_dir; /* /usr/lib/debug */
	const char *root;      /* the root directory of the process; NULL: search only in our own */
	const char *path;      /* path of the file itself, as the process sees it */
	struct fetch *fetch;   /* asked to download files that are not on this machine; or NULL */
	struct fetch_asker asker;
};

/*
 * Opens the debug file that belongs to elf: the same build id, or without one the right checksum
 * (within limits of bytes and time: UNREAD_CHECKSUM). Outside of our own debug_dir the file must
 * belong to root, to us or to the owner of the ELF file. Sink thread only. Returns a descriptor
 * that the caller owns, or -ENOENT.
 */
int debugfile__open(const struct elf *elf, const struct debugfile_places *places);

/*
 * Opens, by its build id, the common file of dwz that the DWARF of elf refers to
 * (.gnu_debugaltlink).
 */
int debugfile__open_alt(const struct elf *elf, const char *debug_dir);

/*
 * --- .gnu_debugdata: a small xz-compressed ELF file inside a stripped one, with its local symbols
 */

/*
 * Unpacks it into malloc'ed memory that the caller owns. Returns 0; -ENOENT: none; -EFBIG: over the
 * limit; -EINVAL: broken.
 */
int debugdata__unpack(const struct elf *elf, void **ret, size_t *ret_size);

#endif
