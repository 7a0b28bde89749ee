/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of functions that give the reason of a wait. */
#ifndef JANK_MODEL_CHAIN_WAIT_REASON_TABLE_H
#define JANK_MODEL_CHAIN_WAIT_REASON_TABLE_H

#include "model/block.h"
#include <stdbool.h>
#include <stddef.h>

struct wait_reason_rule {
	const char *pattern; /* of a function's name, or of a thread's */
	const char *reason;  /* a word of the list in sentence.h */
};

struct wait_reason_table {
	const struct wait_reason_rule *rules;
	size_t cnt;
	bool kernel; /* matches kernel functions */
};

/* Generated from loops/wait_reasons.tbl, where each is explained. */
extern const struct wait_reason_table reasons_kernel_memory, reasons_kernel_wait,
	reasons_kernel_interrupts, reasons_kernel_exit, reasons_gc, reasons_runtime, reasons_lock,
	reasons_wake, reasons_resolver, reasons_child, reasons_thread;

/* The word of the first rule that matches any frame of the stack, or NULL. */
const char *wait_reason_table__any(const struct wait_reason_table *table,
				   const struct stack *stack);

/* The word of the rule that matches the innermost matching frame, or NULL. *ret: that frame. */
const char *wait_reason_table__innermost(const struct wait_reason_table *table,
					 const struct stack *stack, const struct frame **ret);

/* The word of the first rule that matches the name; NULL: none, or no name. */
const char *wait_reason_table__name(const struct wait_reason_table *table, const char *name);

#endif
