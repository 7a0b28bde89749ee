/* SPDX-License-Identifier: GPL-2.0 */
/* The begin of a thread's wait for a CPU: see quota.bpf.h. */
#ifndef JANK_QUOTA_MARK_BPF_H
#define JANK_QUOTA_MARK_BPF_H

#include "bpf/quota.bpf.h"

/*
 * The thread begins to wait for a CPU. Without CONFIG_CFS_BANDWIDTH there are no quotas; a
 * minimised BTF made before these fields were used lacks them.
 */
static __noinline int quota__mark(struct jank_quota_mark *mark, struct task_struct *task)
{
	struct cfs_rq *queue;

	mark->ns = QUOTA_NONE;
	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(struct cfs_rq, throttle_count))
		return 0;
	if (quota__is_by_thread(task)) {
		if (!KREAD(task, throttled))
			return 0;
		queue = BPF_CORE_READ(task, se.cfs_rq); /* see KREAD */
		mark->ns = quota__queue_ns(queue);
		mark->queue = (u64)queue;
	} else {
		mark->ns = quota__group_ns(task);
		if (mark->ns == QUOTA_NONE)
			return 0;
		queue = BPF_CORE_READ(task, se.cfs_rq);
		mark->queue = BPF_CORE_READ(queue, throttle_count) ? QUOTA_THROTTLED
								   : quota__queue_state(queue);
	}
	return 0;
}

/* The same for a thread that is woken: without a call, which costs as much as all the rest. */
static __always_inline void quota__mark_woken(struct jank_quota_mark *mark,
					      struct task_struct *task)
{
	if (quota__is_by_thread(task) && !KREAD(task, throttled))
		mark->ns = QUOTA_NONE;
	else
		quota__mark(mark, task);
}

#endif
