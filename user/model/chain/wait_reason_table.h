/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of functions that give the reason of a wait. '*' at the end of a name matches any suffix.
 * '*' at the start matches anywhere in a C++ or Rust name.
 */
#ifndef JANK_MODEL_CHAIN_WAIT_REASON_TABLE_H
#define JANK_MODEL_CHAIN_WAIT_REASON_TABLE_H

#include "model/block.h"
#include <stdbool.h>
#include <stddef.h>

struct wait_reason_rule {
	const char *name;
	const char *what; /* a word of the list in sentence.h */
};

struct wait_reason_table {
	const struct wait_reason_rule *rules;
	size_t cnt;
	bool kernel; /* matches kernel functions */
};

extern const struct wait_reason_table what_of_memory; /* kernel: the first matching rule counts */
extern const struct wait_reason_table what_of_kernel; /* the same, for threads that wait */
extern const struct wait_reason_table what_of_interrupts; /* kernel: for threads that run */
extern const struct wait_reason_table what_of_gc;	  /* runtimes: garbage collectors */
extern const struct wait_reason_table
	what_of_runtime; /* runtimes: locks and stops; the first rule counts */
extern const struct wait_reason_table
	what_of_lock; /* libraries: waits; the innermost frame counts */
extern const struct wait_reason_table
	what_of_wake; /* libraries: calls that end such waits; the innermost */
extern const struct wait_reason_table what_of_resolver; /* name resolution */
extern const struct wait_reason_table what_of_child;	/* waits for a child in a nested loop */
extern const struct wait_reason_table
	what_of_exit; /* kernel: a child notifies its parent of its exit */
extern const struct wait_reason_table what_of_thread; /* names of runtimes' own threads */

/* The word of the first rule that matches any frame of the stack, or NULL. */
const char *wait_reason_table__any(const struct wait_reason_table *table,
				   const struct stack *stack);

/* The word of the rule that matches the innermost matching frame, or NULL. *ret: that frame. */
const char *wait_reason_table__innermost(const struct wait_reason_table *table,
					 const struct stack *stack, const struct frame **ret);

/* The word of the first rule that matches the name; NULL: none, or no name. */
const char *wait_reason_table__name(const struct wait_reason_table *table, const char *name);

#endif
