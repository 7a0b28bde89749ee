/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that tell what a thread is at, as data. A name ends with '*' where any end will do, and
 * begins with it where it may stand anywhere in a C++ or Rust name.
 */
#ifndef JANK_MODEL_CHAIN_WAIT_REASON_TABLE_H
#define JANK_MODEL_CHAIN_WAIT_REASON_TABLE_H

#include "model/block.h"
#include <stdbool.h>
#include <stddef.h>

struct wait_reason_rule {
	const char *name;
	const char *what; /* of sentence.h's list */
};

struct wait_reason_table {
	const struct wait_reason_rule *rules;
	size_t cnt;
	bool kernel; /* its functions are the kernel's */
};

extern const struct wait_reason_table
	what_of_memory; /* kernel: the first rule that matches counts */
extern const struct wait_reason_table what_of_kernel;	  /* likewise, of threads that wait */
extern const struct wait_reason_table what_of_interrupts; /* kernel: of threads that run */
extern const struct wait_reason_table what_of_gc;	  /* runtimes: collectors */
extern const struct wait_reason_table
	what_of_runtime; /* runtimes' locks and stops: the first rule */
extern const struct wait_reason_table
	what_of_lock; /* libraries' waits: the innermost frame counts */
extern const struct wait_reason_table
	what_of_wake; /* libraries' functions that end such waits: likewise */
extern const struct wait_reason_table what_of_resolver; /* look-ups of names */
extern const struct wait_reason_table what_of_child;	/* waits for a child in a loop of its own */
extern const struct wait_reason_table
	what_of_exit; /* kernel: a child tells its parent that it ends */
extern const struct wait_reason_table what_of_thread; /* names of runtimes' own threads */

/* What the first rule of the table says that matches any frame of the stack, or NULL. */
const char *wait_reason_table__any(const struct wait_reason_table *table,
				   const struct stack *stack);

/*
 * What the rule says that matches the innermost frame for which there is one, with that frame, or
 * NULL.
 */
const char *wait_reason_table__innermost(const struct wait_reason_table *table,
					 const struct stack *stack, const struct frame **ret);

/* What the first rule says that matches the name; NULL: none, or no name. */
const char *wait_reason_table__name(const struct wait_reason_table *table, const char *name);

#endif
