/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unwanted loops: in epoll those of code that user space names (jank_parks.off_start: a Go
 * program's own), and all of a process that is left alone (jank_left). Their threads get no state.
 * Threads that already have one are marked when user space reads the iterator. They release it
 * themselves, because their counts and waiter slots are changed without a lock.
 */
#ifndef JANK_OFF_BPF_H
#define JANK_OFF_BPF_H

#include "bpf/thread.bpf.h"

static __noinline int off__is(struct task_struct *task, u64 ip)
{
	__u32 tgid = pids__tgid(task);
	const struct jank_parks *parks = bpf_map_lookup_elem(&jank_parkers, &tgid);

	return parks && ip - parks->off_start < parks->off_end - parks->off_start;
}

/* Is the current task about to wait in such code, where it would get its first state? */
static __always_inline bool off__waits(struct task_struct *task)
{
	return thread__park_gen() && off__is(task, compat__user_ip(compat__user_regs(task)));
}

/*
 * The thread sees the mark at its next wait, because that is not on its descriptor, and not of its
 * kind.
 */
static __always_inline void off__mark(struct jank_thread *t)
{
	if (!t->off)
		t->off = JANK_OFF_MARKED;
	t->fd = -1;
	if (t->loop == JANK_LOOP_POLL)
		t->loop = JANK_LOOP_EPOLL;
}

/* Runs on the thread's own CPU: after this a switch finds nothing to do. */
static __noinline int off__leave(struct jank_thread *t, struct task_struct *task)
{
	thread__forget_dispatch(t);
	t->due = 0;
	if (jank_conf.watch_ns)
		waker_watch__end(pids__tid(task), 0);
	t->phase = JANK_PHASE_NONE;
	t->state = JANK_STATE_RUNNING;
	t->woken_ns = 0;
	return 0;
}

/*
 * The same where the state may be freed: not in scheduler events, which run under the run queue's
 * lock. Returns false when the thread is not marked.
 */
static __noinline int off__ends(struct jank_thread *t, struct task_struct *task)
{
	if (!t->off)
		return false;
	off__leave(t, task);
	thread__drop(task, pids__tid(task));
	return true;
}

#endif
