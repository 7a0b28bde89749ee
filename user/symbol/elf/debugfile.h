/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate debug files: by build id, or by the name in .gnu_debuglink. */
#ifndef JANK_SYMBOL_ELF_DEBUGFILE_H
#define JANK_SYMBOL_ELF_DEBUGFILE_H

#include "symbol/elf/elf.h"

struct fetch;

/* Where to look. */
struct debugfile_places {
	const char *debug_dir; /* /usr/lib/debug */
	const char *root;      /* the process's own root, or NULL: only this one's */
	const char *path;      /* of the file itself, as the process sees it */
	struct fetch *fetch;   /* asked for what is nowhere here, for later; or NULL */
};

/*
 * Opens the debug file that belongs to elf (same build id; without one, right checksum): a
 * descriptor, or -ENOENT. Outside of our own debug_dir it must be root's, ours or of the file's own
 * owner.
 */
int debugfile__open(const struct elf *elf, const struct debugfile_places *places);

/* Opens dwz's common file, which elf's DWARF refers to (.gnu_debugaltlink), by its build id. */
int debugfile__open_alt(const struct elf *elf, const char *debug_dir);

#endif
