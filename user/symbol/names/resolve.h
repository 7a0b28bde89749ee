/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From one address to what is known of it: the part between tables and frames. */
#ifndef JANK_SYMBOL_NAMES_RESOLVE_H
#define JANK_SYMBOL_NAMES_RESOLVE_H

#include "symbol/names/pool.h"
#include "symbol/names/process.h"

struct resolver {
	struct process_env *env;
	struct pool *pool;	     /* of the strings in entries */
	const char *kernel_build_id; /* "": not known */
	bool this_kernel; /* the table of kallsyms is this machine's: /sys has its modules */
	bool demangle;
	bool source; /* lines and inlined functions are wanted */
};

/*
 * Fills entry (but for its key) for an address of a process. exact: it is where the processor
 * stood; else it is a return address, and the call before it is meant. region: where it lies.
 */
void resolve__user(const struct resolver *rs, struct process *process, const struct region *region,
		   uint64_t addr, bool exact, struct cached *entry);

/*
 * Names the byte at an offset of a module's file, by its tables: entry->function, lines, what is
 * inlined. delta: from the function's begin. False: it has no name.
 */
bool resolve__file(const struct resolver *rs, struct module *module, uint64_t file_offset,
		   struct cached *entry, uint64_t *delta);

/* The same for a kernel address and a table of kallsyms. Without a name, entry->base is addr. */
void resolve__kernel(const struct resolver *rs, const struct symtab *kernel, uint64_t addr,
		     bool exact, struct cached *entry);

#endif
