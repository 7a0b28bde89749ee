/* SPDX-License-Identifier: GPL-2.0 */
/* CPU quotas of cgroups: how long they withheld the CPU from a thread that was runnable. */
#ifndef JANK_QUOTA_BPF_H
#define JANK_QUOTA_BPF_H

#include "bpf/compat.bpf.h"

/* Levels of cgroups that are read, counted from the thread's own. */
#define QUOTA_GROUP_MAX 4

/* jank_quota_mark.ns: no quota withholds the CPU, and none can before the thread has run. */
#define QUOTA_NONE (~0ull)
/* jank_quota_mark.queue: a quota withholds the CPU. */
#define QUOTA_THROTTLED (~0ull)

/*
 * From e1fad12dcb66 (6.18) on a quota stops each thread by itself, when it returns to user mode: a
 * thread that waits in the queue of a throttled cgroup may still get the CPU. Earlier kernels take
 * the whole queue away, also for threads that are woken later.
 */
static __always_inline bool quota__is_by_thread(struct task_struct *task)
{
	return bpf_core_field_exists(task->throttled) &&
	       bpf_core_field_exists(struct cfs_rq, throttled_clock_self) &&
	       bpf_core_field_exists(struct cfs_rq, throttled_clock_self_time) &&
	       bpf_core_field_exists(struct rq, clock);
}

/*
 * Returns the time in ns in which quotas of a cgroup and its parents withheld a CPU from it so far
 * (throttled_clock_self in kernel/sched/fair.c). The queue may be that of another CPU, or gone.
 */
static __always_inline u64 quota__queue_ns(struct cfs_rq *queue)
{
	u64 begin_ns = BPF_CORE_READ(queue, throttled_clock_self);
	u64 ns = BPF_CORE_READ(queue, throttled_clock_self_time);

	return begin_ns ? ns + BPF_CORE_READ(queue, rq, clock) - begin_ns : ns;
}

/* A group without a quota has this one (RUNTIME_INF in kernel/sched/sched.h). */
#define QUOTA_UNLIMITED (~0ull)

static __always_inline bool quota__limits(struct task_group *group)
{
	return !bpf_core_field_exists(group->cfs_bandwidth.quota) ||
	       KREAD(group, cfs_bandwidth.quota) != QUOTA_UNLIMITED;
}

/*
 * The sum of all CPUs, without a throttling that has not ended; QUOTA_NONE: no group has a quota. A
 * minimised BTF made before this field was used lacks it.
 */
static __always_inline u64 quota__group_ns(struct task_struct *task)
{
	struct task_group *group;
	bool limited = false;
	u64 ns = 0;

	if (!bpf_core_field_exists(task->sched_task_group) ||
	    !bpf_core_field_exists(struct task_group, cfs_bandwidth) ||
	    !bpf_core_field_exists(struct task_group, parent))
		return 0;
	group = KREAD(task, sched_task_group);
	for (int i = 0; i < QUOTA_GROUP_MAX; i++) {
		if (!group)
			break;
		ns += KREAD(group, cfs_bandwidth.throttled_time);
		limited |= quota__limits(group);
		group = KREAD(group, parent);
	}
	return limited ? ns : QUOTA_NONE;
}

/* The field's name before 64eaf50731ac (5.19). */
struct cfs_rq___task_clock {
	u64 throttled_clock_task_time;
} __attribute__((preserve_access_index));

/* Returns a number that changes when a throttling of the queue ends; 0: not known. */
static __always_inline u64 quota__queue_state(struct cfs_rq *queue)
{
	struct cfs_rq___task_clock *old = (void *)queue;

	if (bpf_core_field_exists(old->throttled_clock_task_time))
		return BPF_CORE_READ(old, throttled_clock_task_time);
	if (bpf_core_field_exists(struct cfs_rq, throttled_clock_pelt_time))
		return BPF_CORE_READ(queue, throttled_clock_pelt_time);
	return 0;
}

/* The thread waits for a CPU since before the mark of its group; so it does by that mark. */
static __always_inline void quota__use_group(struct jank_quota_mark *ret,
					     const struct jank_quota_mark *mark,
					     struct task_struct *task)
{
	ret->ns = QUOTA_NONE;
	if (!bpf_core_field_exists(task->se.cfs_rq) || (u64)KREAD(task, se.cfs_rq) != mark->queue)
		return;
	*ret = *mark;
}

/* Returns the part in ns of the time since the mark in which a quota withheld the CPU. */
static __always_inline u64 quota__throttled_ns(const struct jank_quota_mark *mark,
					       struct task_struct *task, u64 runnable_ns)
{
	u64 ns;

	if (mark->ns == QUOTA_NONE)
		return 0;
	if (quota__is_by_thread(task)) {
		ns = quota__queue_ns((struct cfs_rq *)mark->queue);
	} else if (bpf_core_field_exists(task->se.cfs_rq)) {
		if (mark->queue != QUOTA_THROTTLED &&
		    mark->queue == quota__queue_state(KREAD(task, se.cfs_rq)))
			return 0;
		ns = quota__group_ns(task);
		if (ns == QUOTA_NONE) /* it was removed */
			return 0;
	} else {
		return 0;
	}
	ns -= mark->ns;
	return ns < runnable_ns ? ns : runnable_ns;
}

/* Flags of a span that ends with runnable_ns, of which a quota had throttled_ns. */
static __always_inline __u16 quota__flag(u64 throttled_ns, u64 runnable_ns)
{
	return throttled_ns > runnable_ns / 2 ? JANK_STACK_THROTTLED : 0;
}

#endif
