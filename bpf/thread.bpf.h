/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of a thread and of its dispatch: open, account, close, and send a block when it took too
 * long.
 */
#ifndef JANK_THREAD_BPF_H
#define JANK_THREAD_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/facts.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/message.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/share.bpf.h"
#include "bpf/thread_counts.bpf.h"
#include "bpf/thread_table.bpf.h"
#include "bpf/waker_watch_on.bpf.h"

/* Are start-ups watched? By typed probes only: the task iterator opens them. */
static __always_inline bool startup__on(void)
{
#ifdef JANK_PLAIN
	return false;
#else
	return jank_conf.startup_ns;
#endif
}

/* Generation of user space's answers about processes with parks; 0: none yet. */
static __always_inline __u32 thread__park_gen(void)
{
	__u32 zero = 0, *gen = bpf_map_lookup_elem(&jank_park_gen, &zero);

	return gen ? *(volatile __u32 *)gen : 0;
}

/* In a process with parks (JANK_PARKS_*), a thread that never waits elsewhere may be a worker. */
static __always_inline void thread__may_park(struct jank_thread *t, __u32 parks)
{
	if (jank_reduced & JANK_REDUCE_POOLS)
		return;
	if (t->phase == JANK_PHASE_NONE && t->fd < 0) {
		t->loop = JANK_LOOP_PARK;
		t->phase = JANK_PHASE_CANDIDATE;
	}
	if (t->ready_cnt == JANK_READY_STARTUP && t->phase == JANK_PHASE_DISPATCH && t->fd < 0)
		t->loop = JANK_LOOP_PARK;
	else if (t->phase != JANK_PHASE_CANDIDATE && !t->trial)
		return;
	t->parks = parks;
}

/* Time of the last update of sum_exec_runtime, by CLOCK_MONOTONIC. */
static __always_inline u64 thread__exec_at(const struct jank_thread *t, struct task_struct *task)
{
	return KREAD(task, se.exec_start) + t->clock_off_ns;
}

/*
 * CPU time that a running thread gained since the last update, in ns. It is at most a tick: the run
 * queue's clock stops while a hypervisor has the CPU (update_rq_clock_task in kernel/sched/core.c),
 * CLOCK_MONOTONIC does not.
 */
static __always_inline s64 thread__pending_ns(u64 exec_at_ns, u64 now)
{
	s64 ns = now - exec_at_ns;

	if (ns < 0)
		return 0;
	return (u64)ns < jank_conf.tick_ns ? ns : (s64)jank_conf.tick_ns;
}

/*
 * CPU time of the thread since the dispatch began, in ns, by its own CPU clock (without stolen
 * time). sum_exec_runtime is as of the last tick or switch; the time since then is added.
 */
static __always_inline u64 thread__cpu_ns(const struct jank_thread *t, struct task_struct *task,
					  u64 now)
{
	u64 exec_at_ns = thread__exec_at(t, task);
	s64 ns = KREAD(task, se.sum_exec_runtime) - t->exec_sum_ns;

	if (t->clock_off_ns)
		ns += thread__pending_ns(exec_at_ns, now) -
		      thread__pending_ns(t->exec_at_ns, t->start_ns);
	else /* the offset of the clocks is unknown, but both advance at the same rate */
		ns += (now - t->start_ns) - (exec_at_ns - t->exec_at_ns);
	return ns > 0 ? ns : 0;
}

/*
 * Measures the offset between the run queue's clock and CLOCK_MONOTONIC. Call it when a thread with
 * a dispatch gets the CPU: the kernel has just set exec_start.
 */
static __always_inline void thread__sync_clock(struct jank_thread *t, struct task_struct *task,
					       u64 now)
{
	u64 off = now - KREAD(task, se.exec_start);

	if (!t->clock_off_ns)
		t->exec_at_ns += off;
	t->clock_off_ns = off;
}

/* Is the thread in its loop's wait? */
static __always_inline bool thread__waits(const struct jank_thread *t)
{
	return t->phase == JANK_PHASE_WAITING || t->phase == JANK_PHASE_PARKED;
}

/* A long start delay since from_ns was kept as a span when the thread got the CPU: sends it. */
static __noinline int thread__send_start(struct jank_thread *t, u64 from_ns, u64 now)
{
	struct jank_rec_stack *rec = &t->span.rec;

	if (!(rec->hdr.flags & JANK_STACK_START) || rec->t_ns != from_ns) {
		t->start_throttled_ns = 0;
		return 0;
	}
	rec->dispatch_ns = now;
	if (record__send_stack(&t->span, rec->hdr.size))
		t->shed_cnt++;
	t->evidence = 1; /* thread__forget_dispatch clears start_throttled_ns, too */
	rec->hdr.flags = 0;
	return 0;
}

/*
 * The wait has slept: the time since the wake-up is the dispatch's start delay. The span of a long
 * one is sent now, because the begin of the dispatch is only known now.
 */
static __always_inline void thread__start_late(struct jank_thread *t, struct task_struct *task,
					       u64 now)
{
	/* a wait that found nothing ready was not late by a freeze */
	u64 from_ns = t->frozen_ns && t->ready_cnt > 0 ? t->frozen_ns : t->woken_ns;
	u64 ns = now - from_ns;

	if ((s64)ns < 0) /* the waker read its clock on another CPU */
		ns = 0;
	t->start_delay_ns = ns;
	if (ns > jank_conf.threshold_ns)
		t->starts.over_cnt++;
	if (thread__count(&t->starts, ns))
		thread__flush(t, task, now);
	if (ns >= jank_conf.span_min_ns || t->frozen_ns) /* others are not kept */
		thread__send_start(t, from_ns, now);
	t->woken_ns = 0;
	t->frozen_ns = 0;
	t->due = 0;
}

static __always_inline void thread__open(struct jank_thread *t, struct task_struct *task, u64 now)
{
	if (t->woken_ns)
		thread__start_late(t, task, now);
	t->phase = JANK_PHASE_DISPATCH;
	t->state = JANK_STATE_RUNNING;
	t->start_ns = now;
	t->mark_ns = now;
	t->exec_sum_ns = KREAD(task, se.sum_exec_runtime);
	t->exec_at_ns = thread__exec_at(t, task);
}

/*
 * Adds the time since the last mark to the state in which it was spent. A waker on another CPU may
 * have read its clock just before the thread set the mark.
 */
static __always_inline void thread__account(struct jank_thread *t, __u32 state, u64 now)
{
	if ((s64)(now - t->mark_ns) < 0)
		return;
	if (state < JANK_STATE_CNT)
		t->state_ns[state] += now - t->mark_ns;
	t->mark_ns = now;
}

/*
 * The thread runs, but no switch to it was seen. Ordinary kernels report all switches; one kernel
 * hides some from all tracers (docs/kernel-facts.md). The thread's CPU clock gives the time since
 * when it runs; before that the known state held.
 */
WALKED_ONCE_BY_POINTER int thread__arrive_late(struct jank_thread *t, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	__u32 state;
	u64 exec_at;
	s64 ran;

	if (!t)
		return 0;
	state = t->state;
	exec_at = thread__exec_at(t, task);
	/*
	 * The offset was measured when the thread got the CPU. Out of bounds, it is that of another
	 * CPU.
	 */
	if (!t->clock_off_ns || exec_at < t->mark_ns || exec_at > now)
		thread__sync_clock(t, task, now);
	ran = thread__cpu_ns(t, task, now) - t->state_ns[JANK_STATE_RUNNING];
	if (ran < 0 || ran > (s64)(now - t->mark_ns))
		ran = 0;
	thread__account(t, state, now - ran);
	t->due = 0;
	t->state = JANK_STATE_RUNNING;
	if (jank_conf.watch_ns)
		waker_watch__end(pids__tid(task), 0);
	/* The stack of a long span should be sent, but its kernel part has changed by now. */
	if (state == JANK_STATE_RUNNABLE &&
	    (s64)(now - ran - t->span.rec.t_ns) < (s64)jank_conf.span_min_ns)
		return 0;
	t->wakeup_missed_cnt++;
	t->evidence = 1;
	lost__add(JANK_LOST_WAKEUP);
	return 0;
}

static __always_inline void thread__fill_block(struct jank_rec_block *rec, struct jank_thread *t,
					       struct task_struct *task, u64 now, __u32 end)
{
	rec->start_ns = t->start_ns;
	rec->duration_ns = now - t->start_ns;
	rec->loop = t->loop;
	rec->fd = t->fd;
	rec->ready_cnt = t->ready_cnt;
	rec->end = end;
	rec->behind = end >> 16;
	rec->state = t->state;
	rec->stack_cnt = t->stack_cnt;
	rec->shed_cnt = t->shed_cnt;
	rec->wakeup_missed_cnt = t->wakeup_missed_cnt;
	rec->start_delay_ns = t->start_delay_ns;
	record__comm(rec->comm, task);
	for (int i = 0; i < JANK_STATE_CNT; i++)
		rec->state_ns[i] = t->accounted ? t->state_ns[i] : 0;
}

/* Tolerated difference of the two clocks: the tracepoint fires a little after the switch. */
#define CLOCK_SLACK_NS 100000

/*
 * Corrects the running time by the thread's CPU clock. When CLOCK_MONOTONIC counted more, a
 * hypervisor (or an interrupt accounted elsewhere) took the difference: the thread was waiting for
 * a CPU. When it counted less, the tracepoint of the thread's arrival came late. Returns the taken
 * time in ns.
 */
static __always_inline u64 thread__trust_cpu_clock(u64 *state_ns, u64 cpu_ns)
{
	u64 running = state_ns[JANK_STATE_RUNNING];
	u64 runnable = state_ns[JANK_STATE_RUNNABLE];
	s64 taken = running - cpu_ns;

	if (taken > -CLOCK_SLACK_NS && taken < CLOCK_SLACK_NS)
		return 0;
	if (taken < 0 && runnable < (u64)-taken)
		return 0;
	state_ns[JANK_STATE_RUNNING] = running - taken;
	state_ns[JANK_STATE_RUNNABLE] = runnable + taken;
	return taken > 0 ? taken : 0;
}

/* The process may have a threshold of its own ([override] of an agent). */
static __noinline int thread__is_tolerated(struct jank_thread *t, struct task_struct *task, u64 now)
{
	__u32 tgid = KREAD(task, tgid);
	const __u64 *limit_ns = bpf_map_lookup_elem(&jank_limits, &tgid);

	return limit_ns && now - t->start_ns + t->start_delay_ns <= *limit_ns;
}

/*
 * A dispatch over the threshold. Runs in the thread itself, on its CPU: the last stretch was
 * running. The record is built in the ring's memory: on the stack, it and its callers' frames would
 * reach the limit of a call chain in kernels before 6.13.
 */
static __always_inline int thread__send_block(struct jank_thread *t, struct task_struct *task,
					      u64 now, __u32 end, __u32 tid)
{
	struct jank_rec_block *rec;
	u64 cpu_ns, stolen_ns;

	if (jank_conf.adjustable && thread__is_tolerated(t, task, now))
		return 0;
	cpu_ns = thread__cpu_ns(t, task, now);
	thread__account(t, JANK_STATE_RUNNING, now);
	t->accounted = 1;
	stolen_ns = thread__trust_cpu_clock(t->state_ns, cpu_ns);
	t->block_cnt++;
	if (t->user == JANK_SHARE_OTHERS) /* its state was made from outside */
		t->user = share__of(task);
	if (share__is_over(t->user, SHARE_BLOCK_SZ, JANK_SHARE_RECORD))
		return -1;
	message__send(t, task, now);
	facts__send(t, task, stolen_ns, 0, now);
	rec = record__reserve(sizeof(*rec));
	if (!rec)
		return -1;
	__builtin_memset(rec, 0, sizeof(*rec));
	record__head(&rec->hdr, JANK_REC_BLOCK, sizeof(*rec), now, task);
	rec->hdr.flags = t->trial;
	rec->hdr.tid = tid;
	thread__fill_block(rec, t, task, now, end);
	rec->cpu_ns = cpu_ns;
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* The same for the current task. */
WALKED_ONCE int thread__block(u64 now, __u32 end, __u32 tid)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t = thread__get_as(task, tid);

	return t ? thread__send_block(t, task, now, end, tid) : -1;
}

static __always_inline void thread__forget_dispatch(struct jank_thread *t)
{
	t->start_ns = 0;
	t->start_delay_ns = 0;
	if (t->accounted) {
		t->accounted = 0;
		__builtin_memset(t->state_ns, 0, sizeof(t->state_ns));
	}
	if (t->evidence) {
		t->evidence = 0;
		t->start_throttled_ns = 0;
		t->stack_cnt = 0;
		t->shed_cnt = 0;
		t->wakeup_missed_cnt = 0;
		t->hang_sent = 0;
	}
}

static __always_inline __u32 thread__next_trial(const struct jank_thread *t)
{
	return t->trial_cnt < JANK_TRIAL_MAX ? t->trial_cnt + 1 : 1;
}

/*
 * The thread is on probation from here on: it waits where it may have its loop. Its dispatches are
 * sent, but user space holds them back until the loop is certain. Records of an earlier place are
 * never reported.
 */
WALKED_ONCE_BY_POINTER int thread__try(struct jank_thread *t)
{
	if (!t)
		return 0;
	if (t->start_ns)
		thread__forget_dispatch(t);
	if (t->dispatch_cnt)
		thread__clear_counts(t);
	t->trial_cnt = thread__next_trial(t);
	t->trial = t->trial_cnt;
	t->trial_ns = bpf_ktime_get_ns();
	return 0;
}

/* The loop is of another kind. Returns false when the thread was not on probation. */
static __always_inline bool thread__end_trial(struct jank_thread *t)
{
	if (!t->trial)
		return false;
	thread__try(t);
	t->trial = 0;
	return true;
}

/* The histograms keep the threshold of the start as their edge. */
static __always_inline u64 thread__threshold_ns(void)
{
	return jank_conf.adjustable ? jank_threshold_ns : jank_conf.threshold_ns;
}

/*
 * Ends the open dispatch of the thread that had number tid at its begin: counts it, and sends a
 * block when it took too long. own: the thread is the current task.
 */
static __always_inline void thread__close_as(struct jank_thread *t, struct task_struct *task,
					     u64 now, __u32 end, __u32 tid, bool own)
{
	u64 ns = now - t->start_ns;
	bool full = thread__count(&t->dispatches, ns);

	t->dispatch_cnt++;
	if (own && t->state != JANK_STATE_RUNNING)
		thread__arrive_late(t, now);
	if (ns > jank_conf.threshold_ns)
		t->dispatches.over_cnt++;
	if (ns + t->start_delay_ns > thread__threshold_ns())
		own ? thread__block(now, end, tid) : thread__send_block(t, task, now, end, tid);
	if (full)
		thread__flush(t, task, now);
	thread__forget_dispatch(t);
}

/* end: JANK_END_*, with jank_rec_block.behind above the low 16 bits. */
static __always_inline void thread__close(struct jank_thread *t, struct task_struct *task, u64 now,
					  __u32 end)
{
	thread__close_as(t, task, now, end, pids__tid(task), true);
}

#endif
