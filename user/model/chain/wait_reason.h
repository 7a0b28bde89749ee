/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reason of a wait or of a busy time, as one word of the list in sentence.h, from the evidence
 * of one moment.
 */
#ifndef JANK_MODEL_CHAIN_WAIT_REASON_H
#define JANK_MODEL_CHAIN_WAIT_REASON_H

#include "model/block.h"
#include <stdbool.h>
#include <stddef.h>

/* A tick, a span off the CPU, or the activity of a chain link. Borrows all that it points to. */
struct activity {
	uint32_t state;			  /* JANK_STATE_* */
	const char *syscall;		  /* NULL: none, or not known */
	const struct stack *stack;	  /* with named frames */
	const struct wait_object *waited; /* NULL: not known */
	uint64_t blocked_ns;		  /* before the wake-up; 0: not known */
	uint32_t waker_tid;		  /* thread that ended it; 0: none, or not known */
	const struct stack *wake_stack;	  /* the waker's stack at the wake-up; NULL: not known */
	bool held;			  /* a thread held what it waited for */
};

struct activity activity__of_sample(const struct sample *sample);
struct activity activity__of_link(const struct block *block, size_t link); /* of its chain */

/* The wait that the chain explains: one of the block's samples. */
struct activity activity__of_chain(const struct block *block);

/*
 * The word, or NULL if there is no evidence. Always NULL for a runnable state: blame.h explains
 * those from the block.
 */
const char *wait_reason__of(const struct activity *activity);

/*
 * True if the wait lasted until its call's timeout. Tolerance 0.5 ms: the timer is armed before the
 * thread leaves the CPU.
 */
bool activity__timed_out(const struct activity *activity);
bool wait_object__timed_out(const struct jank_rec_waited *raw,
			    uint64_t blocked_ns); /* raw may be NULL */

/*
 * True if the program wanted time to pass and nothing else: a runtime's sleep by a condition
 * variable, or a poll of no descriptor. False for a sleep's own system call (JANK_STATE_SLEEP).
 */
bool wait_reason__is_sleep(const struct activity *activity);

/* The same by the functions alone, where the timeout is not known. */
bool wait_reason__has_sleep(const struct activity *activity);

/* True for a slice of a wait for a runtime's lock, whose timeout says nothing of the wait. */
bool wait_reason__is_slice(const struct activity *activity);

/* Reason of a futex wait, even if it timed out; NULL: not known. */
const char *wait_reason__of_futex(const struct activity *activity);

/*
 * True if another thread or process ends such a wait, so that it explains the wait. Disks and
 * timers end waits by themselves. reason: the word, or NULL.
 */
bool wait_reason__needs_thread(uint32_t state, const char *reason);

/*
 * The innermost function of the stack that runs its program's loop inside a handler: the word for
 * what it waits for, "dialog" for its user; *ret: its frame. NULL: none is known.
 */
const char *wait_reason__of_nested(const struct stack *stack, const struct frame **ret);

/* Reason derived from the name of a runtime's own thread, or NULL. */
const char *wait_reason__of_thread(const char *comm);

/*
 * What the runtime did for `app`, a frame of the stack, in words: "JSON.parse". From the functions
 * that it called. NULL: not known.
 */
const char *wait_reason__activity(const struct stack *stack, const struct frame *app);

/* True if it is a function of a loop that calls handlers. */
bool wait_reason__is_turn(const struct frame *frame);

/* The library or runtime function that gives the reason, or NULL: only the system call is known. */
const struct frame *wait_reason__frame(const struct activity *activity);

/*
 * The outermost garbage collector function on the stack; *ret_caller: the next application frame,
 * or NULL.
 */
const struct frame *wait_reason__collector(const struct activity *activity,
					   const struct frame **ret_caller);

/* --- tables of functions that give the reason of a wait; exported for tests */

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
	reasons_kernel_terminal, reasons_kernel_interrupts, reasons_kernel_exit, reasons_gc,
	reasons_runtime, reasons_slices, reasons_sleep, reasons_lock, reasons_wake,
	reasons_resolver, reasons_child, reasons_thread, reasons_turn, reasons_activity;

#endif
