/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions from a file's DWARF (2 to 5), by libdw. Addresses are those of
 * the program headers. Answers are not cached; the caller does that, with the address.
 *
 * The file may be hostile: libdw may end the process (out of memory, or SIGBUS when the file is
 * truncated meanwhile) or take long. So this runs in jankbpf-name only, which is started again.
 */
#ifndef JANK_SYMBOL_DWARF_DWARF_H
#define JANK_SYMBOL_DWARF_DWARF_H

#include "symbol/elf/elf.h"
#include <stdbool.h>

#define DWARF_INLINED_MAX 32		 /* deeper ones are dropped, outermost first */
#define DWARF_FILE_MAX	  (128ull << 20) /* bytes of memory for a file; beyond, it is read again */

struct dwarf;

/*
 * Opens the DWARF of a file. Returns NULL when there is none that can be read, or when out of
 * memory. Duplicates the image's descriptor; an image in memory has no DWARF. alt_dir: where dwz's
 * common file is searched by build id (/usr/lib/debug).
 * A file with compressed sections beyond DWARF_FILE_MAX has none.
 */
struct dwarf *dwarf__new(const struct elf *elf, const char *alt_dir);
void dwarf__free(struct dwarf *dwarf); /* accepts NULL */

/* One function at an address. The strings are valid during the callback only. */
struct dwarf_place {
	const char *function; /* linkage name, else the source name; NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	bool inlined;	      /* into the function of the next callback */
};
typedef void (*dwarf_fn)(const struct dwarf_place *place, void *ctx);

/*
 * Calls fn for each function at the address, innermost first; the last one is not inlined. Returns
 * the number of calls.
 */
unsigned dwarf__find(struct dwarf *dwarf, uint64_t vaddr, dwarf_fn fn, void *ctx);

/*
 * Returns true when the last dwarf__find ended early, because this or earlier addresses took too
 * long. Lines may then be missing.
 */
bool dwarf__was_cut(const struct dwarf *dwarf);

size_t dwarf__bytes(const struct dwarf *dwarf); /* memory in bytes; accepts NULL */

/* Returns true when dwarf__shrink would free something. Accepts NULL. */
bool dwarf__is_loaded(const struct dwarf *dwarf);

/* Frees all but the index of units. It is read again when needed. Accepts NULL. */
void dwarf__shrink(struct dwarf *dwarf);

/* The same, unless dwarf__find was called since the last dwarf__rest. Accepts NULL. */
void dwarf__rest(struct dwarf *dwarf);

#endif
