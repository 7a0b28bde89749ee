/* SPDX-License-Identifier: GPL-2.0 */
/* Whether the other threads are watched (watch.bpf.h): while a dispatch waits for long. */
#ifndef JANK_WATCH_ON_BPF_H
#define JANK_WATCH_ON_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/maps.bpf.h"

/* Is such a wait ended by somebody? */
static __always_inline bool watch__wants(__u32 state)
{
	return state != JANK_STATE_RUNNABLE && state != JANK_STATE_DISK &&
	       state != JANK_STATE_SLEEP && state != JANK_STATE_STOPPED;
}

/* A thread with a dispatch begins to wait. A place for each would be a table to search. */
static __always_inline void watch__begin(__u32 tid, u64 now)
{
	__u32 at = tid & (JANK_WAITER_MAX - 1);

	jank_waiter_tid[at] = tid;
	jank_waiter_ns[at] = now;
}

static __always_inline void watch__end(__u32 tid)
{
	__u32 at = tid & (JANK_WAITER_MAX - 1);

	if (jank_waiter_tid[at] == tid)
		jank_waiter_ns[at] = 0;
}

static __always_inline bool watch__is_on(void)
{
	return jank_conf.watch_ns && *(volatile __u32 *)&jank_watch_on;
}

static __always_inline struct jank_watch *watch__own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jank_watch, &zero);
}

/* A thread of which somebody might wait for: not the idle one, none of the kernel's, not our own. */
static __always_inline bool watch__minds(struct task_struct *task)
{
	return !(KREAD(task, flags) & PF_KTHREAD) && KREAD(task, pid) &&
	       (__u32)KREAD(task, tgid) != jank_conf.self_tgid;
}

#endif
