/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves one address to function, module and line: the step between tables and frames. */
#ifndef JANK_SYMBOL_NAMES_RESOLVE_H
#define JANK_SYMBOL_NAMES_RESOLVE_H

#include "symbol/names/cache.h"
#include "symbol/names/process.h"
#include <stddef.h>

struct resolver {
	struct process_env *env;
	struct pool *pool;	     /* owns the strings of entries */
	const char *kernel_build_id; /* "": unknown */
	bool this_kernel; /* the kallsyms table is this machine's: /sys describes its modules */
	bool demangle;
	bool source; /* lines and inlined functions are wanted */
};

/*
 * Fills entry (except its key) for an address of a process. exact: addr is where the processor was;
 * otherwise it is a return address, and the call before it is resolved. region: the region of addr.
 */
void resolve__user(const struct resolver *rs, struct process *process, const struct region *region,
		   uint64_t addr, bool exact, struct cached *entry);

/*
 * Resolves an offset in the file of a module by its tables: function, lines and inlined functions
 * of entry. delta: distance from the function's beginning. Returns false when there is no symbol.
 */
bool resolve__file(const struct resolver *rs, struct module *module, uint64_t file_offset,
		   struct cached *entry, uint64_t *delta);

/* The same for a kernel address and a kallsyms table. Without a symbol, entry->base is addr. */
void resolve__kernel(const struct resolver *rs, const struct symtab *kernel, uint64_t addr,
		     bool exact, struct cached *entry);

/* --- demangler for C++ and Rust names */

#define DEMANGLE_MAX 4096 /* bytes of the result; longer ones are cut */

/*
 * Demangles name (Rust, both manglings; C++ without parameters) into buf. Returns the length; 0:
 * the name is not mangled or is too long, and should be shown unchanged. Not thread-safe.
 */
size_t demangle__name(const char *name, char *buf, size_t cap);

#endif
