/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that another thread waited for: the holder of the mutex, else the waker. */
#ifndef JANK_MODEL_CHAIN_WAKER_OWNER_H
#define JANK_MODEL_CHAIN_WAKER_OWNER_H

#include "model/block.h"
#include "model/chain/thread_history.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
bool waker_owner__find(const struct thread_history *others, const struct wait *wait,
		       struct waker_owner *ret);

/* The record of the wake-up by that thread that ended the wait; NULL: none. */
const struct other_record *waker_owner__wake(const struct thread_history *others,
					     const struct waker_owner *suspect,
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
