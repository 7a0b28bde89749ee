/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits for work outside epoll and poll: an idle worker of a runtime sleeps on a futex, a main
 * thread reads a pipe. A handler waits in the same calls. Only the calling functions tell them
 * apart, and only user space knows these (chain.bpf.h). User space says which processes may have
 * such waits; threads of other processes pay one comparison when they sleep within a dispatch.
 */
#ifndef JANK_PARK_BPF_H
#define JANK_PARK_BPF_H

#include "bpf/chain.bpf.h"
#include "bpf/classify_block.bpf.h"
#include "bpf/client.bpf.h"
#include "bpf/poll.bpf.h"
#include "bpf/wait_args.bpf.h"

/*
 * Parks in a row at one place that make a loop of a thread that waits nowhere else, where any futex
 * wait is a park. Callers that user space recognized need no repetition: a handler's waits lie
 * between two of these parks.
 */
#define PARK_TURNS 3

/* A read of a socket waits for an answer; a read of a pipe, terminal or eventfd waits for work. */
static __always_inline bool park__reads_socket(struct task_struct *task, struct pt_regs *regs)
{
	return classify_block__of_fd(task, compat__syscall_arg(regs, 0), 0) == JANK_STATE_SOCKET;
}

static __always_inline bool park__is_known(const struct jank_thread *t)
{
	return t->loop == JANK_LOOP_PARK && !t->trial && t->phase != JANK_PHASE_CANDIDATE &&
	       !startup__is(t);
}

/*
 * Does a main thread wait in ppoll as Ruby's queues and sleeps do? They poll one descriptor, which
 * reports signals and is no socket.
 */
static __noinline int park__polls_signals(const struct jank_thread *t, struct task_struct *task,
					  __u32 class)
{
	struct pt_regs *regs = compat__user_regs(task);
	u64 timeout = compat__syscall_arg(regs, 2);
	s32 fd;

	if (t->loop != JANK_LOOP_PARK || class != JANK_CLASS_POLL_FDS ||
	    compat__syscall_arg(regs, 1) != 1 || (timeout && timeout <= POLL_TIMEOUT_MAX))
		return false;
	if (bpf_probe_read_user(&fd, sizeof(fd), (void *)compat__syscall_arg(regs, 0)))
		return false;
	return classify_block__of_fd(task, fd, 0) != JANK_STATE_SOCKET;
}

/*
 * May a main thread, or a similar one, wait like this for its next work? Not for a lock, and not
 * when it is known to wait in epoll. A sleep belongs to a frame loop only when the thread waits for
 * nothing else: a server that reads its socket may sleep in its handler.
 */
static __noinline int park__may_rest(struct jank_thread *t, struct task_struct *task, __u32 class)
{
	struct pt_regs *regs = compat__user_regs(task);

	if (t->loop != JANK_LOOP_PARK && t->loop != JANK_LOOP_POLL)
		return false;
	switch (class) {
	case JANK_CLASS_FUTEX:
		return !wait_args__is_lock(regs);
	case JANK_CLASS_SLEEP:
		return !t->waits_else || park__is_known(t);
	case JANK_CLASS_ACCEPT:
	case JANK_CLASS_QUEUE:
		return true;
	case JANK_CLASS_FD:
		if (!park__reads_socket(task, regs))
			return true;
		break;
	case JANK_CLASS_POLL_FDS:
	case JANK_CLASS_SELECT:
		if (park__is_known(t)) /* one loop, several kinds of wait */
			return true;
		return t->park.script ||
		       (t->parks & JANK_PARKS_SCRIPT && park__polls_signals(t, task, class));
	}
	return false;
}

/*
 * A thread falls asleep: do the callers decide what this wait is? A fault, and the end of a stop,
 * do not count as other waits.
 */
static __always_inline bool park__is_judged(struct jank_thread *t, struct task_struct *task,
					    __u32 class)
{
	s32 nr = compat__syscall_nr(compat__user_regs(task));

	if (class == JANK_CLASS_FUTEX && chain__compares(t))
		return !wait_args__is_lock(compat__user_regs(task));
	if (t->parks & JANK_PARKS_BY_PLACE)
		return class == JANK_CLASS_FUTEX || class == JANK_CLASS_SLEEP;
	if (!(t->parks & JANK_PARKS_MAIN))
		return false;
	if (park__may_rest(t, task, class))
		return true;
	if (class != JANK_CLASS_FUTEX && class != JANK_CLASS_SLEEP && nr >= 0 &&
	    !compat__continues(nr))
		t->waits_else = 1;
	return false;
}

/*
 * Returns the identity of the interpreter's frames where these tell places apart; else 0. Ruby's
 * queues wait in ppoll, which also waits for signals, in whichever thread comes first. A main
 * thread's other polls are judged by turns and by the callers in C (poll__ask_callers).
 */
static __always_inline __u32 park__script(const struct jank_thread *t, struct task_struct *task,
					  __u32 class)
{
	__u32 tgid = pids__tgid(task), tid = pids__tid(task);

	if (!(t->parks & JANK_PARKS_SCRIPT) ||
	    (poll__class_waits(class) && tid == tgid && !park__polls_signals(t, task, class)))
		return 0;
	return script_place__identity(tgid, tid);
}

/*
 * A thread falls asleep. Returns whether that is a park: JANK_PARK_*, or 0: not known, it may turn
 * out to be one. For a polling loop questions are asked only about waits that are compared with it:
 * the result of its probation holds.
 */
WALKED_ONCE_BY_POINTER int park__verdict(struct jank_thread *t, __u32 class, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_park_place at = {
		.sp = compat__user_sp(regs),
		.arg0 = compat__syscall_arg(regs, 0),
		.tid = pids__tid(task),
		.nr = compat__syscall_nr(regs),
	};
	__u32 verdict;

	if (!t)
		return 0;
	t->park_start_ns = 0;
	if (!chain__kinds(t, task))
		return JANK_PARK_NO;
	at.script = park__script(t, task, class);
	t->park_cnt = chain__same_place(&t->park, &at) ? t->park_cnt + 1 : 1;
	t->park = at;
	if (t->parks & JANK_PARKS_ANY_FUTEX && class == JANK_CLASS_FUTEX)
		return JANK_PARK_YES;
	if (!park__is_judged(t, task, class))
		return JANK_PARK_NO;
	if (class == JANK_CLASS_ACCEPT)
		t->service = client__service(task, at.arg0);
	verdict = chain__verdict(pids__tgid(task), at.sp, compat__user_ip(regs), at.script);
	if (verdict == JANK_PARK_IDLE && !chain__is_park(t, verdict))
		return JANK_PARK_NO;
	if (verdict)
		return verdict;
	if (t->loop == JANK_LOOP_POLL && !t->trial && !chain__compares(t))
		return JANK_PARK_NO;
	t->park_left_ns = now;
	chain__ask(t, task, now);
	return 0;
}

/* Starts a trial: the thread waits here on probation. */
static __always_inline void park__try(struct jank_thread *t, u64 sp, s32 nr, u64 script)
{
	if (startup__on() && t->trial)
		startup__moves(t, KERNEL_CURRENT());
	thread__try(t);
	t->loop = JANK_LOOP_PARK;
	t->place.sp = sp;
	t->place.nr = nr;
	t->place.turn_cnt = 1;
	t->inner.turn_cnt = 0;
	t->sp = sp;
	t->tried_script = script;
}

/* The C library's waits with and without a timeout differ in depth by some bytes. */
static __always_inline bool park__is_near_tried(const struct jank_thread *t)
{
	return t->trial && t->loop == JANK_LOOP_PARK && t->place.nr == t->park.nr &&
	       t->park.sp + POLL_SP_SLOP >= t->place.sp && t->park.sp <= t->place.sp + POLL_SP_SLOP;
}

static __always_inline bool park__is_tried(const struct jank_thread *t)
{
	return park__is_near_tried(t) && (!t->tried_script || t->tried_script == t->park.script);
}

/*
 * Does the unknown place take over from the one on trial? A program waits at many places while it
 * starts, mostly deeper in the stack than its loop. Where the thread came back often, the callers
 * decide, or it must have left that place.
 */
static __noinline int park__replaces(struct jank_thread *t)
{
	const struct jank_place at = {
		.sp = t->park.sp,
		.nr = t->park.nr,
		.first_fd = -1,
	};

	if (t->loop != JANK_LOOP_PARK)
		return false;
	if (t->place.turn_cnt < POLL_TURNS && at.sp > t->place.sp + POLL_SP_SLOP)
		return true;
	return poll__inner_is_loop(t, &at);
}

/*
 * An interpreter's thread on probation waits by the same call as its loop: it rests, or its handler
 * waits. Its dispatch is not reported until user space can tell.
 */
static __noinline int park__doubts(struct jank_thread *t)
{
	thread__forget_dispatch(t);
	t->phase = JANK_PHASE_CANDIDATE;
	return true;
}

/* A ppoll with a timeout may be a sleep of Ruby, which is no loop's wait. */
static __always_inline bool park__polls_timed(const struct jank_thread *t, struct task_struct *task)
{
	return poll__class(t->park.nr) == JANK_CLASS_POLL_FDS &&
	       compat__syscall_arg(compat__user_regs(task), 2) > POLL_TIMEOUT_MAX;
}

/*
 * A main thread waits at an unknown place: its dispatches are on probation, like those of polling
 * loops (poll__try). Returns false when another place stays on trial.
 */
static __always_inline bool park__tries(struct jank_thread *t, struct task_struct *task, u64 now)
{
	if (!(t->parks & JANK_PARKS_MAIN) || (!t->trial && t->phase != JANK_PHASE_CANDIDATE))
		return false;
	if (park__is_tried(t)) {
		loop_wait__close(t, task, now);
		t->tried_script = t->park.script;
		t->place.turn_cnt++;
		t->inner.turn_cnt = 0;
	} else if (park__polls_timed(t, task)) {
		return park__doubts(t);
	} else {
		if (t->trial && t->place.sp && !park__replaces(t))
			return park__is_near_tried(t) && park__doubts(t);
		park__try(t, t->park.sp, t->park.nr, t->park.script);
	}
	t->phase = JANK_PHASE_PARKED;
	return true;
}

/*
 * The park is the loop's wait from here on, if the thread came there often enough (PARK_TURNS).
 */
static __noinline int park__adopt(struct jank_thread *t, struct task_struct *task, u64 now)
{
	if (park__is_tried(t))
		loop_wait__close(t, task, now);
	else
		thread__end_trial(t);
	t->loop = JANK_LOOP_PARK;
	t->phase = JANK_PHASE_CANDIDATE;
	if (t->park_cnt < PARK_TURNS && t->parks & JANK_PARKS_ANY_FUTEX)
		return 0;
	t->phase = JANK_PHASE_PARKED;
	t->sp = t->park.sp;
	t->place.turn_cnt = t->park_cnt;
	loop_wait__announce(now);
	t->trial = 0;
	return 0;
}

/*
 * By the state where that is decisive: the call may be restart_syscall, which continues another
 * one.
 */
static __always_inline __u32 park__class(struct task_struct *task, __u32 state)
{
	if (state == JANK_STATE_FUTEX)
		return JANK_CLASS_FUTEX;
	if (state == JANK_STATE_SLEEP)
		return JANK_CLASS_SLEEP;
	return poll__class(compat__syscall_nr(compat__user_regs(task)));
}

/*
 * A thread with a loop that polls rests further out. Threads with such rests are watched with
 * --workers; of others the polls were a task's, and its dispatches are taken back. Returns whether
 * it is one of them. Its polls make no loop again.
 */
static __noinline int park__gives_up(struct jank_thread *t, struct task_struct *task)
{
	if (!chain__compares(t) || t->parks & JANK_PARKS_MAIN)
		return false;
	off__leave(t, task);
	if (t->dispatch_cnt)
		thread__clear_counts(t);
	t->loop = JANK_LOOP_PARK;
	t->sp = 0;
	t->place.turn_cnt = 0;
	t->rests = 1;
	return true;
}

/* The same in its start-up, where only what is certain ends it. */
static __noinline int park__ends_startup(struct jank_thread *t, struct task_struct *task,
					 __u32 class, u64 now)
{
	if (park__verdict(t, class, now) != JANK_PARK_YES ||
	    (t->parks & JANK_PARKS_ANY_FUTEX && t->park_cnt < PARK_TURNS))
		return false;
	startup__end(t, now);
	park__adopt(t, task, now);
	return true;
}

/*
 * A thread with an open dispatch goes to sleep. Returns true when that is its loop's wait, which
 * ends the dispatch.
 */
WALKED_ONCE_BY_POINTER int park__leaves(struct jank_thread *t, __u32 state, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	__u32 class = park__class(task, state), verdict;

	if (!t)
		return 0;
	if (startup__is(t))
		return park__ends_startup(t, task, class, now);
	if (t->service && t->loop == JANK_LOOP_PARK && client__is_awaited(t, task)) {
		loop_wait__close(t, task, now);
		t->phase = JANK_PHASE_PARKED;
		return true;
	}
	/* With -a: a shell that waits for a program that its user started is not slow. */
	if (jank_conf.all && class == JANK_CLASS_CHILD && t->loop == JANK_LOOP_PARK) {
		loop_wait__close(t, task, now);
		t->phase = JANK_PHASE_PARKED;
		return true;
	}
	verdict = park__verdict(t, class, now);
	/* not of another call at nearly the same depth: the lock around a condition variable */
	if (verdict == JANK_PARK_NO && park__is_tried(t) && t->park.sp == t->place.sp)
		t->place.sp = 0;
	if (verdict == JANK_PARK_NO || !verdict)
		return !verdict && park__tries(t, task, now);
	if (t->trial) {
		park__adopt(t, task, now);
		return true;
	}
	if (verdict == JANK_PARK_YES && park__gives_up(t, task))
		return true;
	loop_wait__close(t, task, now);
	t->looper_entry = 0;
	t->phase = JANK_PHASE_PARKED;
	return true;
}

/* A parked thread gets the CPU: this opens a dispatch. */
static __always_inline void park__arrives(struct jank_thread *t, struct task_struct *task, u64 now)
{
	t->ready_cnt = 0;
	t->early_wake_ns = 0;
	message__begin(t, 0);
	thread__open(t, task, now);
	t->park_start_ns = now;
}

/* A main thread that slept before it was known gets the CPU: its first dispatch is on probation. */
static __noinline int park__meets(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);
	s32 nr = compat__syscall_nr(regs);

	if (!park__may_rest(t, task, poll__class(nr)))
		return 0;
	if (poll__class(nr) == JANK_CLASS_ACCEPT)
		t->service = client__service(task, compat__syscall_arg(regs, 0));
	park__try(t, compat__user_sp(regs), nr, 0);
	park__arrives(t, task, now);
	return 0;
}

/*
 * The thread returns from a wait that was unknown when it left the CPU. If user space has found a
 * park there since, the dispatch ended when the thread left.
 */
static __noinline int park__was_one(struct jank_thread *t, struct task_struct *task, u64 now)
{
	__u32 verdict = chain__was_park(t);
	u64 left = t->span.rec.t_ns;

	if (!verdict || startup__is(t))
		return false;
	if (verdict == JANK_PARK_YES && park__gives_up(t, task))
		return true;
	if (t->state == JANK_STATE_RUNNABLE) /* its waker has accounted the sleep */
		t->state_ns[t->span.rec.state & 15] -= t->mark_ns - left;
	t->due = 0;
	t->state = JANK_STATE_RUNNING;
	if (verdict == JANK_PARK_LEFT)
		loop_wait__lose(t);
	t->mark_ns = left;
	t->clock_off_ns -= now - left; /* its CPU clock stood still during the sleep */
	loop_wait__close_as(t, task, left, 0, false);
	t->clock_off_ns += now - left;
	park__arrives(t, task, now);
	return true;
}

/* A thread not known as a loop goes to sleep: is it a worker that parks again? */
WALKED_ONCE_BY_POINTER int park__considers(struct jank_thread *t, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	__u32 class = poll__class(compat__syscall_nr(compat__user_regs(task))), verdict;

	if (!t || (!park__is_judged(t, task, class) && class != JANK_CLASS_FUTEX))
		return 0;
	verdict = park__verdict(t, class, now);
	if (verdict == JANK_PARK_YES)
		return park__adopt(t, task, now);
	return !verdict && park__tries(t, task, now);
}

/* Is the thread still in the park that opened its dispatch? Then it has done nothing. */
static __always_inline bool park__ends_in_one(const struct jank_thread *t,
					      const struct pt_regs *regs)
{
	return t->park_start_ns == t->start_ns && compat__syscall_nr(regs) == t->park.nr &&
	       compat__user_sp(regs) == t->park.sp;
}

/*
 * A thread is frozen within a dispatch. Returns true when it was parked: the freeze woke it, and it
 * parks again when it is thawed.
 */
static __noinline int park__is_resumed(struct jank_thread *t, struct task_struct *task, u64 now)
{
	if (t->loop != JANK_LOOP_PARK || !park__ends_in_one(t, compat__user_regs(task)))
		return false;
	loop_wait__close(t, task, now);
	t->phase = JANK_PHASE_PARKED;
	return true;
}

#endif
