/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables and code bytes of a process, for the unwinder. Opens the modules' files as needed.
 */
#ifndef JANK_SYMBOL_UNWIND_TABLES_H
#define JANK_SYMBOL_UNWIND_TABLES_H

#include "symbol/names/process.h"

#define CALLS_MAX 1024

/*
 * Cache of addresses in code without a file that followed a call when they were read. Indexed by
 * the lowest bits of the address.
 */
struct calls {
	uint64_t addresses[CALLS_MAX];
};

/*
 * Returns the row for an address of the process in a region. NULL: the region has no file, or its
 * file can no longer be read. Valid until the next call. ret_cfi gets the tables that the row
 * belongs to.
 */
const struct cfi_row *tables__row(struct process_env *env, const struct process *process,
				  const struct region *region, uint64_t addr, bool exact,
				  struct cfi **ret_cfi);

/*
 * Reads code of the process: from its file, or from its memory if the pages are present. 0 or
 * -errno.
 */
int tables__code(struct process_env *env, const struct process *process,
		 const struct region *region, uint64_t addr, void *buf, size_t len);

/* Reads code of the process from its file only. 0 or -errno; -ENODATA: no file. */
int tables__file_code(struct process_env *env, const struct process *process,
		      const struct region *region, uint64_t addr, void *buf, size_t len);

/*
 * Returns 1 when an address in code without a row follows a call, 0 when it does not, or -errno
 * when the code cannot be read. machine: EM_* of the code.
 */
int tables__behind_call(struct process_env *env, struct process *process, uint16_t machine,
			const struct region *region, uint64_t addr);

/*
 * Returns where the function of an address begins in its file, from the unwind table; 0: unknown.
 */
uint64_t tables__start(struct process_env *env, const struct process *process,
		       const struct region *region, uint64_t addr, bool exact);

/* Returns the begin of the function that contains the address, from its symbol; 0: unknown. */
uint64_t tables__function(struct process_env *env, const struct process *process,
			  const struct region *region, uint64_t addr);

#endif
