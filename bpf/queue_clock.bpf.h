/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Since when a task is off the CPU, by its own fields, also where no probe saw it leave or wake up.
 * They hold times of the run queue's clock, which is nearly the same on all CPUs, unlike the clocks
 * of se.exec_start, which stand still while the hypervisor has the CPU.
 */
#ifndef JANK_QUEUE_CLOCK_BPF_H
#define JANK_QUEUE_CLOCK_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/maps.bpf.h"

/*
 * Does se.prev_sum_exec_runtime say when the task got the CPU? It does in the fair class only
 * (set_next_entity in kernel/sched/fair.c).
 */
static __always_inline bool queue_clock__is_fair(struct task_struct *task)
{
	if (jank_conf.fair_class == JANK_FAIR_BY_PRIO) /* no pointer: see KREAD */
		return KREAD(task, prio) >= JANK_FAIR_PRIO_MIN && KREAD(task, pid);
	return (u64)KREAD(task, sched_class) == jank_conf.fair_class;
}

static __always_inline bool queue_clock__knows(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.last_arrival) && queue_clock__is_fair(task);
}

/* When the task left the CPU, by that clock; of one that runs: now, as of its last tick. */
static __always_inline u64 queue_clock__left(struct task_struct *task)
{
	return KREAD(task, sched_info.last_arrival) + KREAD(task, se.sum_exec_runtime) -
	       KREAD(task, se.prev_sum_exec_runtime);
}

/* The task leaves the CPU now: keeps what CLOCK_MONOTONIC is ahead of that clock. */
static __always_inline void queue_clock__sync(struct task_struct *task, u64 now)
{
	if (queue_clock__knows(task))
		jank_queue_off_ns = now - queue_clock__left(task);
}

/* A time of that clock by CLOCK_MONOTONIC; 0: not known, or not before now. */
static __always_inline u64 queue_clock__mono(u64 t_ns, u64 now)
{
	u64 ret = t_ns + jank_queue_off_ns;

	return t_ns && jank_queue_off_ns && ret < now ? ret : 0;
}

/* Since when the task sleeps; 0: not known. */
static __always_inline u64 queue_clock__sleeps_since(struct task_struct *task, u64 now)
{
	return queue_clock__knows(task) ? queue_clock__mono(queue_clock__left(task), now) : 0;
}

/*
 * Since when the task waits for this CPU, which it gets now; 0: not known. Another CPU may have had
 * it in its queue before (sched_info_dequeue in kernel/sched/stats.h).
 */
static __always_inline u64 queue_clock__waits_since(struct task_struct *task, u64 now)
{
	if (!bpf_core_field_exists(task->sched_info.last_queued))
		return 0;
	return queue_clock__mono(KREAD(task, sched_info.last_queued), now);
}

/* How long the task, which gets the CPU now, has waited for CPUs since its start; 0: not known. */
static __always_inline u64 queue_clock__delay(struct task_struct *task, u64 now)
{
	u64 since_ns = queue_clock__waits_since(task, now);

	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return KREAD(task, sched_info.run_delay) + (since_ns ? now - since_ns : 0);
}

#endif
