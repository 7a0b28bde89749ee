/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for work within a start-up. Of a loop in epoll or in polls the first wait is its own. A
 * park is known by its callers, at its second wait at the earliest; and a worker that was forked
 * waits for its parent's orders, whatever its loop is. There the start-up ends at the first wait in
 * which a thread may rest: rather too early than too late.
 */
#ifndef JANK_STARTUP_REST_BPF_H
#define JANK_STARTUP_REST_BPF_H

#include "bpf/poll_place.bpf.h"
#include "bpf/startup.bpf.h"
#include "bpf/wait_args.bpf.h"

/* A forked worker's own locks and pauses are no orders. */
static __always_inline bool startup__may_rest(const struct jank_startup *s,
					      struct task_struct *task, __u32 state, s32 nr)
{
	struct pt_regs *regs = compat__user_regs(task);
	__u32 class = poll__class(nr);

	switch (state) {
	case JANK_STATE_POLL:
	case JANK_STATE_SOCKET:
	case JANK_STATE_PIPE:
		return true;
	case JANK_STATE_SLEEP:
		return !s->forked;
	case JANK_STATE_FUTEX:
		return !wait_args__is_lock(regs) &&
		       !(s->forked && compat__syscall_arg(regs, 1) & FUTEX_PRIVATE_FLAG);
	}
	return class == JANK_CLASS_QUEUE || class == JANK_CLASS_CHILD || class == JANK_CLASS_FD;
}

/* The main thread sleeps since t_ns, up to which its account goes. */
static __noinline int startup__rests(struct jank_thread *t, struct task_struct *task, __u32 state,
				     s32 nr, u64 t_ns)
{
	struct jank_startup *s = startup__of(task);

	if (s && !s->rest.end_ns && state >= JANK_STATE_FIRST_BLOCKED &&
	    startup__may_rest(s, task, state, nr))
		startup__read(&s->rest, t, task, t_ns, t_ns);
	return 0;
}

/* The main thread falls asleep. From a terminal a wait is its user's. */
static __always_inline void startup__sleeps(struct jank_thread *t, struct task_struct *task,
					    __u32 state, u64 now)
{
	if (poll__selects_input(task, poll__class(t->span.rec.syscall)))
		t->await.fd = 0;
	startup__rests(t, task, state, t->span.rec.syscall, now);
}

#endif
