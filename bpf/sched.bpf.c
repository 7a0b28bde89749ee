/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of the scheduler: switches, wake-ups, and the ends of threads and programs. */
#include "bpf/sched.bpf.h"
#include "bpf/history.bpf.h"
#include "bpf/loop.bpf.h"
#include "bpf/preempt.bpf.h"

/*
 * --- switches
 *
 * jank_on_switch does what most of them need. It enters the other two by tail calls, each of which
 * does all that its half of a switch may need. A kernel without tail calls in a program with
 * functions has both in one program (FEATURE_TAIL_CALLS).
 */

/* WATCH_REST_* of the switch: what the watch does not want. */
static __always_inline int sched__rests_of(struct task_struct *prev, struct task_struct *next)
{
	return waker_watch__is_on() ? watch_rest__of_switch(KREAD(prev, pid), KREAD(next, pid))
				    : WATCH_REST_BOTH;
}

/*
 * The task that leaves the CPU. now: 0: the time is read if it is needed. rests: WATCH_REST_*, here
 * and below; 0: not asked.
 */
static __always_inline void sched__left(__u64 *ctx, struct task_struct *task, bool preempt, u64 now,
					int rests)
{
	struct jank_thread *t = filter__maybe(task) ? thread__get(task) : NULL;

	if (t)
		thread__is(t, task);
	if (t && t->start_ns) {
		if (!now)
			now = bpf_ktime_get_ns();
		sched__leave(ctx, t, task, preempt, compat__switch_state(ctx, task), now);
		return;
	}
	if (t && thread__waits(t)) {
		now = bpf_ktime_get_ns();
		sched__leave_wait(t, task, preempt || !(compat__switch_state(ctx, task) & 0xffff),
				  now);
	} else if (t && t->parks && t->phase == JANK_PHASE_CANDIDATE && !preempt &&
		   compat__switch_state(ctx, task) & TASK_INTERRUPTIBLE) {
		now = bpf_ktime_get_ns();
		park__considers(t, now);
	}
	if (!(rests & WATCH_REST_LEFT) && waker_watch__is_on()) {
		if (!now)
			now = bpf_ktime_get_ns();
		waker_watch__leave(ctx, task, preempt, compat__switch_state(ctx, task), now);
	}
}

/* The task that gets the CPU. */
static __always_inline void sched__came(struct task_struct *task, int rests)
{
	struct jank_thread *t = filter__maybe(task) ? thread__get(task) : NULL;
	u64 now = bpf_ktime_get_ns();

	if (t) {
		thread__sync_clock(t, task, now);
		if (t->start_ns) {
			sched__arrive(t, task, now);
			if (jank_conf.copy_sz)
				copy_user_stack__release(pids__tid(task));
			return;
		}
		if (thread__waits(t))
			sched__arrive_in_wait(t, task, now);
		if (t->phase == JANK_PHASE_PARKED)
			park__arrives(t, task, now);
		else if (t->phase == JANK_PHASE_CANDIDATE && t->parks & JANK_PARKS_MAIN)
			park__meets(t, task, now);
	}
	if (!(rests & WATCH_REST_CAME) && waker_watch__is_on())
		waker_watch__arrive(task, now);
}

/* Does its arrival need no more than what is done here? */
static __always_inline bool sched__came_plainly(struct task_struct *task, int rests)
{
	struct jank_thread *t = filter__maybe(task) ? thread__get(task) : NULL;

	if (!(rests & WATCH_REST_CAME) && waker_watch__is_on() && !waker_watch__lets_arrive(task))
		return false;
	if (!t)
		return true;
	if (t->start_ns || t->phase == JANK_PHASE_PARKED ||
	    (t->phase == JANK_PHASE_CANDIDATE && t->parks & JANK_PARKS_MAIN) ||
	    (t->due && sched__may_keep_start(t)))
		return false;
	t->due = 0;
	return true;
}

static __always_inline int sched__arrives(__u64 *ctx, struct task_struct *task, int rests)
{
	struct jank_thread *t;

	if (sched__came_plainly(task, rests))
		return 0;
	bpf_tail_call(ctx, &jank_tails, JANK_TAIL_ARRIVE);
	t = thread__get(task); /* it is not loaded yet */
	if (t && t->start_ns)
		sched__arrive_plainly(t, bpf_ktime_get_ns());
	return 0;
}

/* The same for a task that leaves the CPU. */
static __always_inline bool sched__left_plainly(__u64 *ctx, struct task_struct *task, bool preempt,
						int rests)
{
	struct jank_thread *t = filter__maybe(task) ? thread__get(task) : NULL;
	unsigned int state;

	if (t)
		thread__is(t, task);
	if (t && t->start_ns)
		return sched__waits_in_epoll(t, task, preempt, compat__switch_state(ctx, task));
	if ((t && t->parks && t->phase == JANK_PHASE_CANDIDATE) ||
	    (!(rests & WATCH_REST_LEFT) && waker_watch__is_on() && !waker_watch__lets_leave(task)))
		return false;
	if (t && thread__waits(t)) {
		state = compat__switch_state(ctx, task);
		sched__leave_wait(t, task, preempt || !(state & 0xffff), bpf_ktime_get_ns());
	}
	return true;
}

TRACEPOINT("sched_switch")
int jank_on_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool preempt = ctx[0];
	u64 now = history__is_on() ? history__switch(ctx, prev, next, preempt) : 0;
	int rests = sched__rests_of(prev, next);
	struct jank_thread *t;

	slices__switch(prev, next, now);
	if (!sched__left_plainly(ctx, prev, preempt, rests)) {
		bpf_tail_call(ctx, &jank_tails, JANK_TAIL_LEAVE);
		t = thread__get(prev); /* it is not loaded yet */
		if (t && t->start_ns)
			sched__leave_plainly(t, prev, preempt, compat__switch_state(ctx, prev),
					     bpf_ktime_get_ns());
	}
	return sched__arrives(ctx, next, rests);
}

TRACEPOINT("sched_switch")
int jank_at_leave(__u64 *ctx)
{
	sched__left(ctx, (void *)ctx[1], ctx[0], 0, 0);
	return sched__arrives(ctx, (void *)ctx[2], 0);
}

TRACEPOINT("sched_switch")
int jank_at_arrive(__u64 *ctx)
{
	sched__came((void *)ctx[2], 0);
	return 0;
}

/* Where typed probes are loaded on x86-64 (from 5.15 on), there are such tail calls. */
#if defined(JANK_PLAIN) || !defined(__TARGET_ARCH_x86)
TRACEPOINT("sched_switch")
int jank_on_switch_whole(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool preempt = ctx[0];
	u64 now = history__is_on() ? history__switch(ctx, prev, next, preempt) : 0;

	int rests = sched__rests_of(prev, next);

	slices__switch(prev, next, now);
	sched__left(ctx, prev, preempt, now, rests);
	sched__came(next, rests);
	return 0;
}
#endif

/* A thread that wakes itself does not sleep, and interrupts are enabled then (try_to_wake_up). */
static __noinline int sched__keep_wake(void *ctx, struct task_struct *task, __u64 now)
{
	struct task_struct *waker = KERNEL_CURRENT();
	struct jank_history_head *head;
	struct jank_history_entry *entry;
	bool in_irq;

	if (waker == task)
		return 0;
	entry = history__next(&head);
	if (!entry)
		return 0;
	in_irq = !compat__on_task_stack(ctx, waker, (volatile __u64 *)&entry->t_ns);
	history__fill(entry, task, now);
	entry->other_tid = pids__tid(waker);
	entry->state = bpf_core_field_exists(task->wake_cpu) ? KREAD(task, wake_cpu)
							     : JANK_HISTORY_CPU_UNKNOWN;
	entry->kind = JANK_HISTORY_WAKE | (in_irq ? JANK_HISTORY_IRQ : 0);
	history__done(head);
	return 0;
}

TRACEPOINT("sched_waking")
int BPF_PROG(jank_on_waking, struct task_struct *task)
{
	struct jank_thread *t = filter__maybe(task) ? thread__get(task) : NULL;

	bool waits = t && !t->start_ns && thread__waits(t);
	__u32 noted = 0;
	u64 now = 0;

	if (!t && !waker_watch__is_on())
		return 0;
	now = bpf_ktime_get_ns();
	if (history__is_on() && t)
		sched__keep_wake(ctx, task, now);
	if (waits) {
		if (t->frozen_ns)
			sched__thaw(ctx, t);
		sched__due(t, task, now);
	}
	if (t && t->start_ns)
		noted = sched__wake(ctx, t, task, now);
	else if (waker_watch__is_on() && !watch_rest__goes_on(KREAD(task, pid), now) &&
		 !waker_watch__lets_wake(task, now))
		noted = waker_watch__wake(ctx, task, now);
	if (noted)
		waker_watch__send_waker(ctx, noted, task, now);
	return 0;
}

static __always_inline int sched__send_thread(struct jank_thread *t, struct task_struct *task,
					      u64 now)
{
	int res;

	if (share__is_over(t->user, sizeof(struct jank_rec_thread), JANK_SHARE_RECORD))
		return -1;
	res = thread__send_counts(t, task, now);
	if (res)
		lost__add(JANK_LOST_RING_FULL);
	return res;
}

/*
 * The end of the process cuts the wait short: it returns, but not to the program. No dispatch
 * begins.
 */
static __always_inline bool sched__ends_in_wait(const struct jank_thread *t,
						struct task_struct *task)
{
	struct pt_regs *regs = compat__user_regs(task);
	s32 nr = compat__syscall_nr(regs);

	return loop_wait__is_epoll(nr) || poll__class_waits(poll__class(nr)) ||
	       park__ends_in_one(t, regs);
}

/*
 * Returns false for a candidate, and for a thread that was found asleep and never returned: they
 * have no counts.
 */
static __always_inline bool sched__is_loop(const struct jank_thread *t)
{
	return !t->trial && !t->off && (t->sp || t->dispatch_cnt);
}

/*
 * The child has not run yet (kernel_clone in kernel/fork.c), so nothing of it is missed. Loaded
 * with -f, and with -a for start-ups.
 */
TRACEPOINT("sched_process_fork")
int BPF_PROG(jank_on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = pids__tgid(parent), tgid = pids__tgid(child), one = 1;

	if (tgid == parent_tgid ||
	    !(jank_conf.all ? filter__admits(parent)
			    : bpf_map_lookup_elem(&jank_tgids, &parent_tgid) != NULL))
		return 0;
	preempt__disable();
	if (!jank_conf.all && bpf_map_update_elem(&jank_tgids, &tgid, &one, BPF_ANY))
		lost__add(JANK_LOST_NO_THREAD);
	if (startup__on())
		startup__fork(parent, parent_tgid, tgid);
	preempt__enable();
	return 0;
}

/*
 * The process ends, or has another program now. Few are in these maps: a look costs less than a
 * deletion, which takes a lock.
 */
static __always_inline void sched__forget_process(__u32 tgid)
{
	if (bpf_map_lookup_elem(&jank_pollers, &tgid))
		bpf_map_delete_elem(&jank_pollers, &tgid);
	if (bpf_map_lookup_elem(&jank_parkers, &tgid))
		bpf_map_delete_elem(&jank_parkers, &tgid);
	filter__forget_left(tgid);
}

static __always_inline void sched__exit(struct task_struct *task, __u32 tgid)
{
	struct jank_thread *t;
	u64 now;

	if (pids__tid(task) == tgid) {
		sched__forget_process(tgid);
		if (startup__on())
			startup__exit(tgid);
	}
	t = thread__get(task);
	if (!t)
		return;
	now = bpf_ktime_get_ns();
	if (t->start_ns && !startup__is(t) && loop__lives(t, task) && !sched__ends_in_wait(t, task))
		thread__close(t, task, now, JANK_END_EXIT);
	thread__forget_dispatch(t);
	t->phase = JANK_PHASE_NONE;
	if (t->parks)
		bpf_map_delete_elem(&jank_parks, &t->park);
	/* Until the thread is reaped the iterator still sees it: its counts are sent only once. */
	if (sched__is_loop(t))
		if (!sched__send_thread(t, task, now))
			t->dispatch_cnt = 0;
	thread__free(task, pids__tid(task));
}

TRACEPOINT("sched_process_exit")
int BPF_PROG(jank_on_exit, struct task_struct *task)
{
	__u32 tgid = pids__tgid(task);

	/* of any thread: threads that a dispatch waited for have frames, too */
	script__forget(pids__tid(task));
	if (!filter__maybe(task))
		return 0;
	preempt__disable();
	sched__exit(task, tgid);
	preempt__enable();
	return 0;
}

/*
 * A thread other than the main one also takes over the main thread's number; its earlier records
 * have its old number. The program has a new name, which a filter may not admit.
 */
static __always_inline void sched__exec(struct task_struct *task, pid_t machine_old_tid)
{
	bool admitted = filter__traced(task);
	bool compat = compat__is_32bit(compat__user_regs(task));
	struct jank_rec_exec rec = {};
	bool by_thread = machine_old_tid != KREAD(task, pid);
	__u32 tgid = pids__tgid(task), old_tid = machine_old_tid;
	struct jank_thread *t;
	u64 now;

	/* The old number in a namespace is gone; only plain probes need it. */
	if (jank_conf.pid_level)
		old_tid = by_thread ? 0 : pids__tid(task);
	if (filter__maybe(task))
		sched__forget_process(tgid);
	script__forget(pids__tid(task));
	if (startup__on() && filter__maybe(task))
		admitted ? startup__exec(task, bpf_ktime_get_ns()) : startup__exit(tgid);
	t = thread__get_as(task, old_tid);
	if (jank_conf.all ? !t && !(compat && jank_conf.compat_apart) : !admitted)
		return;
	now = bpf_ktime_get_ns();
	if (t) {
		if (startup__is(t))
			thread__forget_dispatch(t);
		else if (t->start_ns)
			thread__close_as(t, task, now, JANK_END_EXEC, old_tid, true);
		t->phase = JANK_PHASE_NONE;
		t->looper_entry = 0;
		t->handled.due_ns = 0;
		t->loop = JANK_LOOP_EPOLL;
		t->key = 0;
		t->fd = -1;
		t->sp = 0;
		nest__forget(t);
		t->place.turn_cnt = 0;
		t->trial = 0;
		t->rests = 0;
		t->parks = 0;
		if (t->off == JANK_OFF_TOLD)
			thread__clear_counts(t);
		t->off = 0;
		t->code = 0;
		if (!admitted || (THREAD_BY_ID && by_thread)) {
			sched__send_thread(t, task, now);
			thread__drop(task, old_tid);
		}
	}
	record__head(&rec.hdr, JANK_REC_EXEC, sizeof(rec), now, task);
	if (by_thread)
		rec.hdr.flags = JANK_EXEC_BY_THREAD;
	if (compat)
		rec.hdr.flags |= JANK_EXEC_32BIT;
	record__comm(rec.comm, task);
	record__send(&rec, sizeof(rec));
}

TRACEPOINT("sched_process_exec")
int BPF_PROG(jank_on_exec, struct task_struct *task, pid_t old_tid)
{
	preempt__disable();
	sched__exec(task, old_tid);
	preempt__enable();
	return 0;
}
