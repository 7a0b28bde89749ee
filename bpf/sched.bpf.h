/* SPDX-License-Identifier: GPL-2.0 */
/* Time account of a thread with an open dispatch: running, runnable and blocked time. */
#ifndef JANK_SCHED_BPF_H
#define JANK_SCHED_BPF_H

#include "bpf/classify_block.bpf.h"
#include "bpf/copy_user_stack.bpf.h"
#include "bpf/park.bpf.h"
#include "bpf/queue_clock.bpf.h"
#include "bpf/quota_mark.bpf.h"
#include "bpf/read_message.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/slices.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/startup_rest.bpf.h"
#include "bpf/thread.bpf.h"
#include "bpf/wait_args.bpf.h"
#include "bpf/wait_object.bpf.h"
#include "bpf/waker.bpf.h"
#include "bpf/waker_watch.bpf.h"

#define PARKS_OF_RUNTIMES (JANK_PARKS_BY_PLACE | JANK_PARKS_ANY_FUTEX | JANK_PARKS_WORKERS)

/* CONFIG_HZ is at least 100. */
#define TICK_MAX_NS 10000000

/* A wake-up may precede the thread's leaving the CPU by at most this time. */
#define EARLY_WAKE_NS 1000000

/*
 * Takes the user stack of a thread that leaves the CPU; it is kept until the span is known to be
 * long. It is the address of the leaf and a copy for the unwinder. The kernel stack will be the
 * same when the thread returns, so only a reported span pays for it.
 */
static __always_inline void sched__take_stack(void *ctx, struct jank_thread *t,
					      struct task_struct *task)
{
	struct jank_stack_buf *span = &t->span;

	if (jank_conf.copy_sz) {
		span->tail[JANK_KSTACK_MAX] = compat__user_ip(compat__user_regs(task));
		span->rec.user_cnt = 1;
		copy_user_stack__take(t->start_ns, span->rec.t_ns);
	} else {
		span->rec.user_cnt =
			stack__walk_user(ctx, task, &span->tail[JANK_KSTACK_MAX], JANK_USTACK_MAX);
	}
	stack__take_kernel(ctx, span);
}

/* Does it sleep as in a park, in a process that may have parks? */
static __always_inline bool sched__may_park(struct jank_thread *t, struct task_struct *task,
					    unsigned int task_state, __u32 state)
{
	return (state == JANK_STATE_FUTEX || state == JANK_STATE_SLEEP ||
		t->parks & JANK_PARKS_MAIN) &&
	       task_state & TASK_INTERRUPTIBLE &&
	       (chain__kinds(t, task) & ~JANK_PARKS_COMPARED || chain__compares(t));
}

/* The thread is about to sleep: records the details of its wait. */
WALKED_ONCE_BY_POINTER int sched__ask(struct jank_thread *t, __u32 state, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();

	if (!t)
		return 0;
	t->await.inode = t->fault_inode;
	t->fault_inode = 0;
	wait_args__ask(&t->await, task, state, poll__class(t->span.rec.syscall), now);
	if (startup__is(t))
		startup__sleeps(t, task, state, now);
	if (jank_conf.watch_ns &&
	    (waker_watch__wants(state) ||
	     waker_watch__syncs(state, poll__class(t->span.rec.syscall))) &&
	    startup__is_watched(t)) {
		waker_watch__begin(pids__tid(task), now);
		queue_clock__sync(task, now);
		if (bpf_core_field_exists(task->sched_task_group))
			jank_watch_group = (u64)KREAD(task, sched_task_group);
	}
	return 0;
}

/*
 * A thread in its loop's wait becomes runnable: it was woken, or lost its CPU before it could
 * sleep.
 */
static __always_inline void sched__due(struct jank_thread *t, struct task_struct *task, u64 now)
{
	t->woken_ns = now;
	t->woken_tick = bpf_jiffies64();
	quota__mark_woken(&t->quota, task);
	t->due = 1;
}

/*
 * A thread leaves the CPU in its loop's wait. Asleep it is not due, unless a waker came before it
 * left: the waker has set `due`, and the thread has not got the CPU since.
 */
static __always_inline void sched__leave_wait(struct jank_thread *t, struct task_struct *task,
					      bool runnable, u64 now)
{
	t->clock_off_ns = 0; /* a dispatch begins on a CPU that is not known yet */
	if (runnable) {
		if (!t->woken_ns)
			sched__due(t, task, now);
		else
			quota__mark(&t->quota, task);
		t->due = 1;
	} else if (!t->due || now - t->woken_ns > EARLY_WAKE_NS) {
		if (t->woken_ns) /* in vain */
			t->start_throttled_ns = 0;
		t->woken_ns = 0;
		t->frozen_ns = 0;
		t->due = 0;
	}
}

/* The same when the loop's wait begins here. */
static __always_inline void sched__begin_wait(struct jank_thread *t, struct task_struct *task,
					      bool runnable, u64 now)
{
	if (t->early_wake_ns + EARLY_WAKE_NS > now)
		sched__due(t, task, t->early_wake_ns);
	t->early_wake_ns = 0;
	sched__leave_wait(t, task, runnable, now);
}

/*
 * A thread with a dispatch is frozen in its loop's wait, which the freeze has interrupted
 * (poll__or_epoll_leaves). What was ready meanwhile is found late, at once when the thread is
 * thawed.
 */
static __noinline int sched__freeze_wait(struct jank_thread *t, struct task_struct *task, u64 now)
{
	sched__leave_wait(t, task, false, now);
	t->woken_ns = 0;
	t->due = 0;
	t->early_wake_ns = 0;
	t->frozen_ns = now;
	t->span.rec.hdr.flags = 0;
	return 0;
}

/* A thread is woken in its loop's wait: keeps who thawed it. */
static __noinline int sched__thaw(void *ctx, struct jank_thread *t)
{
	waker__record(ctx, &t->span.rec, &t->spill, JANK_STATE_STOPPED);
	return 0;
}

/* The thread may have been due since then. */
static __always_inline u64 sched__due_since(const struct jank_thread *t)
{
	return t->frozen_ns ? t->frozen_ns : t->woken_ns;
}

/*
 * The thread gets the CPU after a long delay. Keeps the delay as a span until the wait has returned
 * (thread__start_late).
 */
static __noinline int sched__keep_start(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_rec_stack *rec = &t->span.rec;
	__u16 thawed = t->frozen_ns ? rec->hdr.flags & JANK_STACK_WAKER : 0;
	u64 from_ns = sched__due_since(t);
	/* if it got the CPU before, and lost it again in the wait: the part until then */
	u64 throttled_ns = rec->hdr.flags & JANK_STACK_START && rec->t_ns == from_ns
				   ? t->start_throttled_ns
				   : 0;

	record__head(&rec->hdr, JANK_REC_STACK, 0, now, task);
	rec->hdr.flags = JANK_STACK_START;
	rec->dispatch_ns = 0;
	rec->t_ns = from_ns;
	rec->ns = now - from_ns;
	rec->runnable_ns = now - t->woken_ns;
	rec->state = JANK_STATE_RUNNABLE;
	rec->syscall = -1;
	rec->kernel_cnt = 0;
	rec->user_cnt = 0;
	rec->slice_cnt = 0;
	rec->prio = facts__prio(task);
	if (t->frozen_ns)
		rec->hdr.flags |= JANK_STACK_FROZEN | thawed;
	if (!thawed)
		__builtin_memset(&rec->waker, 0, sizeof(rec->waker));
	slices__append(&t->span, t->woken_ns, now, pids__tid(task));
	rec->hdr.size = stack__size(rec);
	throttled_ns += quota__throttled_ns(&t->quota, task, rec->ns);
	rec->hdr.flags |= quota__flag(throttled_ns, rec->runnable_ns);
	t->start_throttled_ns = throttled_ns < rec->ns ? throttled_ns : rec->ns;
	return 0;
}

/*
 * Is the delay of a start worth a record? On a machine with more runnable threads than CPUs, most
 * dispatches start 1 ms late: nine of ten stack records would be of these. Signed: the waker may
 * have read its clock on another CPU.
 */
static __always_inline bool sched__keeps_start(s64 delay_ns)
{
	return delay_ns >= (s64)jank_conf.span_min_ns &&
	       delay_ns >= (s64)(thread__threshold_ns() / 10);
}

/*
 * May the delay of a start be worth a record? By ticks, since reading the clock costs more than all
 * else here.
 */
static __always_inline bool sched__may_keep_start(const struct jank_thread *t)
{
	__u32 ticks = (__u32)bpf_jiffies64() - t->woken_tick;

	return t->frozen_ns || sched__keeps_start((ticks + 1ll) * TICK_MAX_NS - 1);
}

/* A thread in its loop's wait gets the CPU. */
static __always_inline void sched__arrive_in_wait(struct jank_thread *t, struct task_struct *task,
						  u64 now)
{
	if (!t->due)
		return;
	t->due = 0;
	if (sched__keeps_start((s64)(now - sched__due_since(t))))
		sched__keep_start(t, task, now);
}

/* Does the loop's wait begin where the thread leaves the CPU with a dispatch open? */
static __always_inline bool sched__waits(struct jank_thread *t, struct task_struct *task,
					 bool sleeps, bool frozen, u64 now)
{
	if (!poll__or_epoll_leaves(t, task, sleeps, frozen, now))
		return false;
	if (frozen)
		sched__freeze_wait(t, task, now);
	else
		sched__begin_wait(t, task, !sleeps, now);
	return true;
}

/*
 * Does the loop's wait in epoll begin there? What sched__leave would do is done then. A thread that
 * a freeze makes leave is in no system call (get_signal in kernel/signal.c).
 */
static __always_inline bool sched__waits_in_epoll(struct jank_thread *t, struct task_struct *task,
						  bool preempted, unsigned int task_state)
{
	bool sleeps = !preempted && task_state & 0xffff;
	struct pt_regs *regs = compat__user_regs(task);
	u64 now;

	if (!jank_conf.infer_begin || t->nested_left || !compat__in_syscall(regs) ||
	    !loop_wait__is_epoll(compat__syscall_nr(regs)))
		return false;
	now = bpf_ktime_get_ns();
	if (!poll__epoll_leaves(t, task, regs, sleeps, false, now))
		return false;
	sched__begin_wait(t, task, !sleeps, now);
	return true;
}

/* The thread stops running, with a dispatch open: accounts the time until now. */
static __always_inline void sched__stop(struct jank_thread *t, u64 now)
{
	if (t->state != JANK_STATE_RUNNING)
		thread__arrive_late(t, now);
	thread__account(t, JANK_STATE_RUNNING, now);
	t->accounted = 1;
}

/* The thread leaves the CPU with a dispatch open. */
static __always_inline void sched__leave(void *ctx, struct jank_thread *t, struct task_struct *task,
					 bool preempted, unsigned int task_state, u64 now)
{
	struct jank_rec_stack *rec = &t->span.rec;
	bool sleeps = !preempted && task_state & 0xffff;
	__u32 state = JANK_STATE_RUNNABLE;
	bool frozen = sleeps && compat__is_frozen(task, task_state);
	s32 nr = rec->dispatch_ns == t->start_ns ? rec->syscall : -1;

	t->leave_flags = frozen ? JANK_STACK_FROZEN : 0; /* read again below, as the state is */
	if ((jank_conf.infer_begin || frozen) && sched__waits(t, task, sleeps, frozen, now))
		return;
	frozen = *(volatile __u16 *)&t->leave_flags;
	if (t->off) {
		off__leave(t, task);
		return;
	}
	sched__stop(t, now);
	if (sleeps)
		state = classify_block__blocked(task, task_state, &nr);
	else
		nr = -1;
	rec->state = state;
	/*
	 * Read again: with a known value the verifier would walk each state separately (50,000
	 * instructions).
	 */
	state = *(volatile __u32 *)&rec->state;
	if ((sched__may_park(t, task, task_state, state) && park__leaves(t, state, now)) ||
	    (frozen && park__is_resumed(t, task, now))) {
		sched__begin_wait(t, task, false, now);
		return;
	}
	if (!t->handled.taken)
		read_message__all(t);
	stack__begin(rec, JANK_REC_STACK, task, t->start_ns, now, now);
	rec->hdr.flags |= *(volatile __u16 *)&t->leave_flags;
	rec->syscall = nr;
	rec->prio = facts__prio(task);
	quota__mark(&t->quota, task);
	sched__take_stack(ctx, t, task);
	script__take(t->start_ns, now);
	state = *(volatile __u32 *)&rec->state;
	if (state == JANK_STATE_RUNNABLE)
		t->due = 1;
	else
		sched__ask(t, state, now);
	*(volatile __u32 *)&t->state = state; /* last: from here on a waker may change it */
}

/*
 * Until jank_at_leave is loaded: may a dispatch end where the thread sleeps? A loop in epoll may
 * wait for its descriptor by poll. A handler also polls, and so does a loop whose handlers use
 * epoll: the probes of polls tell them apart. A runtime's worker may park. A dispatch that is not
 * judged yet is given up.
 */
static __always_inline bool sched__rests(struct jank_thread *t, struct task_struct *task, u64 now)
{
	__u32 class = poll__class(compat__syscall_nr(compat__user_regs(task)));
	bool polls = poll__class_waits(class);

	if (polls && poll__waits_for_epoll(t, class)) {
		poll__epoll_begun(t, task, now, loop_wait__behind(0));
		sched__begin_wait(t, task, false, now);
		return true;
	}
	if (!polls && ((class != JANK_CLASS_FUTEX && class != JANK_CLASS_SLEEP) ||
		       !(chain__kinds(t, task) & PARKS_OF_RUNTIMES)))
		return false;
	loop_wait__lose(t);
	t->phase = JANK_PHASE_NONE;
	return true;
}

/* The same as sched__leave: the time, without the stack and the details of the wait. */
static __always_inline void sched__leave_plainly(struct jank_thread *t, struct task_struct *task,
						 bool preempted, unsigned int task_state, u64 now)
{
	bool sleeps = !preempted && task_state & 0xffff;
	struct jank_rec_stack *rec = &t->span.rec;
	__u32 state = JANK_STATE_RUNNABLE;
	s32 nr = -1;

	if (t->off || (sleeps && sched__rests(t, task, now)))
		return;
	sched__stop(t, now);
	if (sleeps)
		state = classify_block__blocked(task, task_state, &nr);
	stack__begin(rec, JANK_REC_STACK, task, t->start_ns, now, now);
	rec->syscall = nr;
	rec->state = state;
	rec->user_cnt = 0;
	t->quota.ns = QUOTA_NONE;
	wait_args__none(&t->await);
	t->due = state == JANK_STATE_RUNNABLE;
	*(volatile __u32 *)&t->state = state; /* last: see sched__leave */
}

/*
 * A waker ends the thread's sleep. The thread may not have left the CPU yet: see sched__arrive.
 * Returns waker_watch__waker_of.
 */
static __always_inline __u32 sched__wake(void *ctx, struct jank_thread *t, struct task_struct *task,
					 u64 now)
{
	__u32 state = t->state;

	if (state == JANK_STATE_RUNNING) {
		t->early_wake_ns = now;
		return 0;
	}
	if (state == JANK_STATE_RUNNABLE)
		return 0;
	if (compat__task_state(task) & TASK_FROZEN_BIT) /* in its sleep (version 1) */
		t->span.rec.hdr.flags |= JANK_STACK_FROZEN;
	thread__account(t, state, now);
	t->state = JANK_STATE_RUNNABLE;
	quota__mark_woken(&t->quota, task);
	t->due = 1;
	waker__record(ctx, &t->span.rec, &t->spill, state);
	return waker_watch__waker_of(&t->span.rec, now);
}

/* Returns the state for the time since the last mark, for a thread that gets the CPU. */
static __always_inline __u32 sched__arrive_state(struct jank_thread *t)
{
	if (t->state == JANK_STATE_RUNNABLE)
		return JANK_STATE_RUNNABLE;
	/* No wake-up since it left: the wake-up came just before, while the thread was leaving. */
	if (t->early_wake_ns + EARLY_WAKE_NS > t->span.rec.t_ns)
		return JANK_STATE_RUNNABLE;
	t->wakeup_missed_cnt++;
	t->evidence = 1;
	lost__add(JANK_LOST_WAKEUP);
	return t->state;
}

/* Sends a long span with its stack. runnable_ns: time since the wake-up, or 0. */
static __noinline int sched__send_span(struct jank_thread *t, struct task_struct *task, u64 now,
				       u64 runnable_ns)
{
	struct jank_rec_stack *rec = &t->span.rec;
	u64 throttled_ns;

	rec->ns = now - rec->t_ns;
	rec->runnable_ns = runnable_ns;
	if (runnable_ns) {
		throttled_ns = quota__throttled_ns(&t->quota, task, runnable_ns);
		t->throttled_ns += throttled_ns;
		rec->hdr.flags |= quota__flag(throttled_ns, runnable_ns);
	}
	t->evidence = 1;
	if (share__is_over(t->user, SHARE_STACK_SZ, JANK_SHARE_STACK)) {
		t->shed_cnt++;
		return 0;
	}
	if (rec->state != JANK_STATE_RUNNABLE)
		wait_object__send(rec, &t->await, task);
	if (jank_conf.copy_sz && rec->user_cnt) /* 0: sched__leave_plainly */
		copy_user_stack__send(pids__tid(task), rec->t_ns);
	stack__complete(&t->span, task, true);
	if (runnable_ns >= jank_conf.span_min_ns)
		slices__append(&t->span, now - runnable_ns, now, pids__tid(task));
	rec->hdr.size = stack__size(rec);
	script__send_taken(task, rec->t_ns, now);
	if (record__send_stack(&t->span, rec->hdr.size))
		t->shed_cnt++;
	else
		t->stack_cnt++;
	return 0;
}

/* It waited for a lock and nobody woke it: the wait timed out. */
static __always_inline bool sched__was_refused(struct jank_thread *t)
{
	return t->span.rec.state == JANK_STATE_FUTEX && !(t->span.rec.hdr.flags & JANK_STACK_WAKER);
}

/* The thread runs again. Returns the time since its wake-up, in ns, or 0. */
static __always_inline u64 sched__run(struct jank_thread *t, u64 now)
{
	__u32 state = sched__arrive_state(t);
	u64 runnable_ns = state == JANK_STATE_RUNNABLE ? now - t->mark_ns : 0;

	thread__account(t, state, now);
	t->state = JANK_STATE_RUNNING;
	t->early_wake_ns = 0;
	t->due = 0;
	return runnable_ns;
}

/* The same as sched__arrive until jank_at_arrive is loaded. */
static __always_inline void sched__arrive_plainly(struct jank_thread *t, u64 now)
{
	if (t->state == JANK_STATE_RUNNING)
		return;
	sched__run(t, now);
	if (now - t->span.rec.t_ns < jank_conf.span_min_ns)
		return;
	t->shed_cnt++;
	t->evidence = 1;
}

/* The thread gets the CPU with a dispatch open. */
static __always_inline void sched__arrive(struct jank_thread *t, struct task_struct *task, u64 now)
{
	u64 runnable_ns, since_ns = 0;

	if (t->state == JANK_STATE_RUNNING)
		return; /* it left the CPU before the trace began */
	if (t->park_left_ns == t->span.rec.t_ns && park__was_one(t, task, now))
		return;
	runnable_ns = sched__run(t, now);
	if (jank_conf.watch_ns)
		since_ns = waker_watch__end(pids__tid(task), sched__was_refused(t) ? now : 0);
	if (!since_ns) /* in a wait made of slices, the last one shows the waker, however short */
		since_ns = t->span.rec.t_ns;
	if (now - since_ns >= jank_conf.span_min_ns)
		sched__send_span(t, task, now, runnable_ns);
}

#endif
