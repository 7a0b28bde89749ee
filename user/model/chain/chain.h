/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of wakers: the thread that a dispatch waited for, the thread that this one waited for,
 * and so on. It ends after CHAIN_MAX links or when no further wait can be explained.
 */
#ifndef JANK_MODEL_CHAIN_CHAIN_H
#define JANK_MODEL_CHAIN_CHAIN_H

#include "model/block.h"
#include "model/chain/thread_history.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chain {
	struct link *links; /* NULL: no wait of the dispatch can be explained */
	size_t cnt;
	size_t sample;		    /* the explained wait: index into the samples */
	struct other_task *syncers; /* see syncers__find */
	size_t syncer_cnt;
};

/* Input: the samples of a thread's dispatch. */
struct chain_ask {
	const struct sample *samples;
	size_t cnt;
	uint32_t tgid, tid;
	uint64_t min_ns; /* ignore states whose waits take less in total */
};

/*
 * syncers.c: finds other threads that synced files of the same device while the thread waited
 * longest in such a call. ns: how long they were seen in it meanwhile, a tenth of that wait at
 * least; the longest first. 0 or -ENOMEM; the caller owns the list in both cases.
 */
#define SYNCER_MAX 4
int syncers__find(const struct thread_history *history, const struct chain_ask *ask,
		  struct other_task **ret, size_t *ret_cnt);

/* Is it fsync, or another call that syncs the file of its first argument? */
bool syncers__is_call(int32_t syscall);

/*
 * Explains one wait: among waits that another thread may have caused, the longest one of the state
 * with the most time. 0 or -ENOMEM; the caller owns the links in both cases.
 */
int chain__build(const struct thread_history *history, const struct chain_ask *ask,
		 struct chain *ret);
void chain__clear(struct chain *chain); /* frees the links and syncers */

/*
 * Moves the stack and the times of the chain's link of the same thread and state to `to`, which
 * will replace it.
 */
void chain__keep_stack(struct link *to, struct block *block);

/*
 * Sets the ids and names of lock holders from the owners of the wait objects, when those are known.
 * Cuts the chain before a holder that is not a thread.
 */
void chain__resolve_owners(struct block *block);

/* --- Time account of a thread over an interval, from its records. */

struct account {
	uint64_t part_ns[JANK_STATE_CNT]; /* ns; the sum is at most the interval's length */
	uint64_t throttled_ns;		  /* of the runnable part: a CPU quota withheld the CPU */
	uint32_t state;			  /* the largest part; JANK_STATE_CNT: nothing was seen */
	uint16_t prio;			  /* the last known; 0: none */
	const struct other_record *span;  /* longest span of that state; NULL: none, or running */
	uint64_t span_begin, span_end;	  /* the counted part of it */
	const struct other_record *tick;  /* most frequent sampled stack; NULL: none */
};

struct account_ask {
	uint32_t tgid, tid;
	uint64_t begin, end;
	bool ran_last; /* it certainly ran at the end */
};

/* The records are borrowed from the history. 0 or -ENOMEM. */
int account__of(const struct thread_history *history, const struct account_ask *ask,
		struct account *ret);

/* --- The thread that another thread waited for: the holder of the mutex, else the waker. */

/* A wait that another thread may have ended. */
struct wait {
	uint32_t tgid, tid; /* the waiting thread */
	uint32_t state;
	uint64_t begin, end; /* the wake-up, or the end of the observed part */
	int32_t syscall;
	bool open; /* it still lasts */
	bool has_waker, softirq;
	struct other_task waker;
	const struct jank_rec_waited *waited; /* NULL: not known */
};

struct waker_owner {
	enum link_role role;
	struct other_task task;
	bool woke; /* it ended the wait, whatever the role */
};

/* The wait of a span, without the time after the wake-up. */
struct wait wait__of_sample(const struct sample *sample, uint32_t tgid, uint32_t tid);
struct wait wait__of_record(const struct other_record *record);

/*
 * Quick check: false if no thread can be responsible. If true, waker_owner__find may still find
 * none.
 */
bool wait__may_have_one(const struct wait *wait);

/* False: no responsible thread is known. */
bool waker_owner__find(const struct thread_history *history, const struct wait *wait,
		       struct waker_owner *ret);

/* The record of the wake-up by that thread that ended the wait; NULL: none. */
const struct other_record *waker_owner__wake(const struct thread_history *history,
					     const struct waker_owner *owner,
					     const struct wait *wait);

/*
 * --- Retried waits. A thread may wait for a lock with a timeout again and again, as CPython does
 * for its GIL every 5 ms. All these slices are one wait; the thread that ended the last slice is
 * responsible.
 */

/* True if sample i + 1 continues the wait of sample i. samples: in time order. */
bool retry_waits__goes_on(const struct sample *samples, size_t cnt, size_t i);

/* The wait of sample i, including the earlier slices that it continues. */
struct wait retry_waits__wait(const struct sample *samples, size_t i, uint32_t tgid, uint32_t tid);

#endif
