/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an unwinder must know of a process's code: the tables of its modules, and the code itself.
 */
#ifndef JANK_SYMBOL_UNWIND_TABLES_H
#define JANK_SYMBOL_UNWIND_TABLES_H

#include "symbol/names/process.h"

#define CALLS_MAX 1024

/* Addresses in code of no file that were behind a call when looked at: by their lowest bits. */
struct calls {
	uint64_t addresses[CALLS_MAX];
};

/*
 * The row for an address of the process in a region; NULL: the region is of no file, or its file
 * can't be read (any more). Stands until the next call. ret_cfi: whose row it is.
 */
const struct cfi_row *tables__row(struct process_env *env, const struct process *process,
				  const struct region *region, uint64_t addr, bool exact,
				  struct cfi **ret_cfi);

/* Code of the process: from its file, or from its memory where that is present. -errno. */
int tables__code(struct process_env *env, const struct process *process,
		 const struct region *region, uint64_t addr, void *buf, size_t len);

/* Code of the process from its file alone. -ENODATA: it is of none. */
int tables__file_code(struct process_env *env, const struct process *process,
		      const struct region *region, uint64_t addr, void *buf, size_t len);

/*
 * Whether an address in code without a row is behind a call: 1, 0, or -errno when the code cannot
 * be read.
 */
int tables__behind_call(struct process_env *env, struct process *process,
			const struct region *region, uint64_t addr);

/* Where the function begins that has the address, by its symbol; 0: not known. */
uint64_t tables__function(struct process_env *env, const struct process *process,
			  const struct region *region, uint64_t addr);

#endif
