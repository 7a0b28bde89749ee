/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread was at, in one word of sentence.h's list, by the evidence of one moment. */
#ifndef JANK_MODEL_CHAIN_WAIT_REASON_H
#define JANK_MODEL_CHAIN_WAIT_REASON_H

#include "model/block.h"

/* A tick, a span off the CPU, or what a link of the chain did. Borrows all that it points to. */
struct activity {
	uint32_t state;			  /* JANK_STATE_* */
	const char *syscall;		  /* NULL: none, or not known */
	const struct stack *stack;	  /* with its frames named */
	const struct wait_object *waited; /* NULL: not known */
	uint64_t blocked_ns;		  /* before the wake-up; 0: not known */
	uint32_t waker_tid;		  /* who ended it; 0: nobody, or not known */
	const struct stack *wake_stack;	  /* where that one was then; NULL: not known */
	bool held;			  /* somebody held what it waited for */
};

struct activity activity__of_sample(const struct sample *sample);
struct activity activity__of_link(const struct block *block, size_t link); /* of its chain */

/* Of the wait that the chain explains, which is one of the block's. */
struct activity activity__of_chain(const struct block *block);

/*
 * The word, or NULL where nothing tells. Of a runnable moment always NULL: who had the CPU is the
 * block's to say (runnable.h).
 */
const char *wait_reason__of(const struct activity *moment);

/*
 * Did the wait last as long as its call was asked to wait at most? Within 0.5 ms: the timer is
 * armed before the thread leaves the CPU.
 */
bool activity__timed_out(const struct activity *moment);
bool wait_object__timed_out(const struct jank_rec_waited *raw,
			    uint64_t blocked_ns); /* raw may be NULL */

/* What a wait in a futex was for, whether it came or the time for it ran out; NULL: not known. */
const char *wait_reason__of_futex(const struct activity *moment);

/* What a thread's name tells of runtimes' own threads, or NULL. */
const char *wait_reason__of_thread(const char *comm);

/*
 * The library's or runtime's function that says what a moment was at, or NULL: the system call is
 * all there is.
 */
const struct frame *wait_reason__frame(const struct activity *moment);

/*
 * The outermost of the collector's functions on the stack; *ret_caller: the application's next one,
 * or NULL.
 */
const struct frame *wait_reason__collector(const struct activity *moment,
					   const struct frame **ret_caller);

#endif
