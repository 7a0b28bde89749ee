/* SPDX-License-Identifier: GPL-2.0 */
/* State of the watch on other threads (waker_watch.bpf.h): on while a dispatch waits long. */
#ifndef JANK_WAKER_WATCH_ON_BPF_H
#define JANK_WAKER_WATCH_ON_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/maps.bpf.h"

/* Does another thread end such a wait? */
static __always_inline bool waker_watch__wants(__u32 state)
{
	return state != JANK_STATE_RUNNABLE && state != JANK_STATE_DISK &&
	       state != JANK_STATE_SLEEP && state != JANK_STATE_STOPPED;
}

/* Does it sync a file? Then it may wait for the journal, which others keep busy. */
static __always_inline bool waker_watch__syncs(__u32 state, __u32 class)
{
	return state == JANK_STATE_DISK && class == JANK_CLASS_FILE_FD;
}

/* A thread with a wait that timed out retries within this time. */
#define WATCH_AGAIN_NS 1000000

/*
 * A thread with a dispatch begins to wait. Threads share the slots: one for each would need a
 * search. A wait in slices counts as one wait: an interpreter's lock is requested again every 5 ms.
 */
static __always_inline void waker_watch__begin(__u32 tid, u64 now)
{
	__u32 at = tid & (JANK_WAITER_MAX - 1);
	u64 since_ns = now;

	if (jank_waiter_tid[at] == tid && now - jank_waiter_left_ns[at] < WATCH_AGAIN_NS)
		since_ns = jank_waiter_since_ns[at];
	jank_waiter_tid[at] = tid;
	jank_waiter_ns[at] = since_ns;
}

/*
 * A thread ends its wait. refused_ns: now, if the wait was for a lock and timed out; else 0.
 * Returns since when it waited; 0: not known.
 */
static __always_inline u64 waker_watch__end(__u32 tid, u64 refused_ns)
{
	__u32 at = tid & (JANK_WAITER_MAX - 1);
	u64 since_ns = jank_waiter_ns[at];

	if (jank_waiter_tid[at] != tid)
		return 0;
	jank_waiter_since_ns[at] = since_ns;
	jank_waiter_left_ns[at] = refused_ns;
	jank_waiter_ns[at] = 0;
	return since_ns;
}

static __always_inline bool waker_watch__is_on(void)
{
	return jank_conf.watch_ns && *(volatile __u32 *)&jank_watch_on;
}

static __always_inline struct jank_watch *waker_watch__own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jank_watch, &zero);
}

/* May a dispatch wait for this thread? Not the idle task, kernel threads or jankbpf itself. */
static __always_inline bool waker_watch__minds(struct task_struct *task)
{
	__u32 tgid = pids__tgid(task);

	return !(KREAD(task, flags) & PF_KTHREAD) && pids__tid(task) &&
	       tgid != jank_conf.self_tgid && tgid != jank_conf.name_tgid;
}

#endif
