/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions, from a file's DWARF (2 to 5).
 *
 * A reader of our own rather than libdw: the file may be hostile, is read with pread, and only the
 * unit of an address is looked at, so that debug information of gigabytes costs some memory for an
 * index. It answers for an address of the file (as in its program headers) and keeps no answers:
 * those are cached with the address.
 */
#ifndef JANK_SYMBOL_DWARF_DWARF_H
#define JANK_SYMBOL_DWARF_DWARF_H

#include "symbol/elf/elf.h"
#include <stdbool.h>

#define DWARF_INLINED_MAX 32 /* deeper ones are left out, from the outermost on */
#define DWARF_FILE_MAX                                                                             \
	(128ull << 20) /* memory for what is read of a file, unpacked; a part beyond is not read */

struct dwarf;

/*
 * The DWARF of an open file, or NULL when it has none that can be read (or out of memory).
 * Duplicates the image's descriptor; an image in memory has none. alt_dir: where dwz's common file
 * is looked for by build id (/usr/lib/debug).
 */
struct dwarf *dwarf__new(const struct elf *elf, const char *alt_dir);
void dwarf__free(struct dwarf *dwarf); /* accepts NULL */

/* One function at an address. Strings live during the call only. */
struct dwarf_place {
	const char *function; /* as the linker has it, else as in the source; NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;	      /* 0: not known */
	bool inlined;	      /* into the one that comes next */
};
typedef void (*dwarf_fn)(const struct dwarf_place *place, void *ctx);

/*
 * Calls fn for each function at the address, innermost first; the last one is not inlined. Its
 * number of calls.
 */
unsigned dwarf__find(struct dwarf *dwarf, uint64_t vaddr, dwarf_fn fn, void *ctx);

/*
 * Did the last dwarf__find end early, because it took too long, or others had? Then lines may be
 * missing.
 */
bool dwarf__was_cut(const struct dwarf *dwarf);

size_t dwarf__bytes(const struct dwarf *dwarf); /* of memory; accepts NULL */

/* Whether there is anything that dwarf__shrink would give up. Accepts NULL. */
bool dwarf__is_loaded(const struct dwarf *dwarf);

/* Gives up what can be read again. Accepts NULL. */
void dwarf__shrink(struct dwarf *dwarf);

#endif
