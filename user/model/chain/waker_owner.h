/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For whom a thread waited: who held the mutex, else who woke it. */
#ifndef JANK_MODEL_CHAIN_WAKER_OWNER_H
#define JANK_MODEL_CHAIN_WAKER_OWNER_H

#include "model/block.h"
#include "model/chain/thread_history.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A wait that somebody may have ended. */
struct wait {
	uint32_t tgid, tid; /* whose */
	uint32_t state;
	uint64_t begin, end; /* until the wake-up, or as far as it is looked at */
	int32_t syscall;
	bool open; /* it goes on */
	bool has_waker, softirq;
	struct other_task waker;
	const struct jank_rec_waited *waited; /* NULL: not known */
};

struct waker_owner {
	enum link_role role;
	struct other_task task;
	bool woke; /* it ended the wait, whatever the role */
};

/* A span's wait, with its whole length but for the time after the wake-up. */
struct wait wait__of_sample(const struct sample *sample, uint32_t tgid, uint32_t tid);
struct wait wait__of_record(const struct other_record *record);

/* Could it be anybody's fault? What it doesn't say at once, waker_owner__find may still refute. */
bool wait__may_have_one(const struct wait *wait);

/* False: nobody can be told. */
bool waker_owner__find(const struct thread_history *others, const struct wait *wait,
		       struct waker_owner *ret);

/* The record of the thread's ending that wait; NULL: none. */
const struct other_record *waker_owner__wake(const struct thread_history *others,
					     const struct waker_owner *suspect,
					     const struct wait *wait);

/*
 * Waits in slices: who wants a lock may wait for it with a time-out, again and again, as CPython
 * does for its own every 5 ms. All of them are one wait, which whoever ended the last one answers
 * for.
 */

/* Is sample i a wait that the one after it goes on with? samples: in time order. */
bool retry_waits__goes_on(const struct sample *samples, size_t cnt, size_t i);

/* The wait of sample i, from the first on of those that it goes on with. */
struct wait retry_waits__wait(const struct sample *samples, size_t i, uint32_t tgid, uint32_t tid);

#endif
