/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads of which the watch (waker_watch.bpf.h) wants nothing for a time, unless they are off the
 * CPU for long: their last record and their last stack are young. Most switches of a machine are
 * theirs, and one small entry and one clock answer for both threads of a switch.
 */
#ifndef JANK_WATCH_REST_BPF_H
#define JANK_WATCH_REST_BPF_H

#include "bpf/maps.bpf.h"

/* The watch wants nothing of the thread that leaves the CPU, of the one that gets it. */
#define WATCH_REST_LEFT 1
#define WATCH_REST_CAME 2
#define WATCH_REST_BOTH (WATCH_REST_LEFT | WATCH_REST_CAME)

/* By the machine's number: no namespace is searched. */
static __always_inline struct jank_watch_rest *watch_rest__of(__u32 machine_tid)
{
	__u32 at = machine_tid & (JANK_OTHER_MAX - 1);

	return bpf_map_lookup_elem(&jank_rests, &at);
}

/* The thread rests until then. */
static __always_inline void watch_rest__begin(__u32 machine_tid, u64 until_ns)
{
	struct jank_watch_rest *rest = watch_rest__of(machine_tid);

	if (!rest)
		return;
	rest->tid = machine_tid;
	rest->watch_ns = jank_watch_start_ns;
	rest->left_ns = 0;
	rest->until_ns = until_ns;
}

static __always_inline bool watch_rest__has(const struct jank_watch_rest *rest, __u32 machine_tid,
					    u64 now)
{
	return rest && rest->tid == machine_tid && now < rest->until_ns &&
	       rest->watch_ns == jank_watch_start_ns;
}

/* A thread that rests is woken, or gets the CPU: was it off the CPU for a short time? */
static __always_inline bool watch_rest__goes_on(__u32 machine_tid, u64 now)
{
	const struct jank_watch_rest *rest = watch_rest__of(machine_tid);

	return watch_rest__has(rest, machine_tid, now) && now - rest->left_ns < JANK_OTHER_SHORT_NS;
}

/* The thread leaves the CPU: does it rest? */
static __always_inline bool watch_rest__leaves(__u32 machine_tid, u64 now)
{
	struct jank_watch_rest *rest = watch_rest__of(machine_tid);

	if (!watch_rest__has(rest, machine_tid, now))
		return false;
	rest->left_ns = now;
	return true;
}

/* WATCH_REST_* of a switch between these threads. The idle task (0) is not watched. */
WALKED_ONCE int watch_rest__of_switch(__u32 left, __u32 came)
{
	u64 now = bpf_ktime_get_ns();
	int ret = 0;

	if (!left || watch_rest__leaves(left, now))
		ret = WATCH_REST_LEFT;
	if (!came || watch_rest__goes_on(came, now))
		ret |= WATCH_REST_CAME;
	return ret;
}

#endif
