/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loops that wait in poll, select or io_uring. Programs also call these for other reasons, so
 * evidence decides (docs/loops.md): the same wait from the same place many times, on several
 * descriptors or in a process that maps a library with a loop that polls.
 */
#ifndef JANK_POLL_BPF_H
#define JANK_POLL_BPF_H

#include "bpf/chain.bpf.h"
#include "bpf/loop_wait.bpf.h"
#include "bpf/poll_place.bpf.h"
#include "bpf/startup_poll.bpf.h"

/*
 * Number of turns that make a loop. Fewer are needed in a process that maps a library known for
 * such a loop, more where the number of descriptors is not visible.
 */
#define POLL_TURNS	  8
#define POLL_TURNS_KNOWN  3
#define POLL_TURNS_UNSEEN 32
/* Further turns in which a copy of a worker's stack may still be sent. */
#define POLL_TURNS_MORE 64
/* Consecutive waits of a handler from one place that make them a loop (of a modal dialog). */
#define POLL_TURNS_INNER 32
/* So many elsewhere make a place on probation a former one, however often the thread came there. */
#define POLL_TURNS_LEFT 16
/* Consecutive looks for work from one place, without a sleep, that make a busy loop. */
#define POLL_LOOKS 32

/* Asks user space, once for each program, whether it maps a library with a loop that polls. */
WALKED_ONCE int poll__ask(__u32 tgid)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_rec_wait *rec;
	__u32 no = 0;

	if (bpf_map_update_elem(&jank_pollers, &tgid, &no, BPF_NOEXIST))
		return 0;
	rec = record__reserve(sizeof(*rec));
	if (!rec)
		return 0;
	__builtin_memset(rec, 0, sizeof(*rec));
	record__head(&rec->hdr, JANK_REC_WAIT, sizeof(*rec), bpf_ktime_get_ns(), task);
	rec->sp = compat__user_sp(regs);
	rec->ip = compat__user_ip(regs);
	rec->syscall = compat__syscall_nr(regs);
	rec->loop = JANK_LOOP_POLL;
	record__comm(rec->comm, task);
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

static __always_inline bool poll__is_poller(struct task_struct *task)
{
	__u32 tgid = pids__tgid(task);
	__u32 *known = bpf_map_lookup_elem(&jank_pollers, &tgid);

	if (!known)
		poll__ask(tgid);
	return known && *known;
}

/*
 * The thread already waited here when the trace began, and its callers identify the wait as a
 * loop's.
 */
static __always_inline bool poll__is_known(struct task_struct *task, struct pt_regs *regs)
{
	const struct jank_park_place place = {
		.sp = compat__user_sp(regs),
		.tid = pids__tid(task),
		.nr = compat__syscall_nr(regs),
	};

	return bpf_map_lookup_elem(&jank_parks, &place);
}

/* Returns the number of turns in this system call that make a loop; 0: no number does. */
static __always_inline __u32 poll__turns_needed(struct task_struct *task, struct pt_regs *regs,
						__u32 class)
{
	if (poll__is_poller(task))
		return poll__is_known(task, regs) ? 1 : POLL_TURNS_KNOWN;
	if (class == JANK_CLASS_POLL_FDS && compat__syscall_arg(regs, 1) > 1)
		return POLL_TURNS;
	return class == JANK_CLASS_POLL_FDS ? 0 : POLL_TURNS_UNSEEN;
}

/* Records the place of the loop's own waits. */
WALKED_ONCE_BY_POINTER int poll__set_place(struct jank_thread *t, const struct jank_place *at)
{
	if (!t || !at)
		return 0;
	t->place = *at;
	if (poll__class(at->nr) == JANK_CLASS_POLL_FDS)
		t->place.first_fd = poll__first_fd(at);
	t->sp = at->sp;
	nest__forget(t);
	return 0;
}

/*
 * The thread looks for work. A busy loop does so many times before its own wait (xterm looks for
 * the X server's events at each line of output). A client's thread, which checks its connection,
 * sleeps in between.
 */
WALKED_ONCE_BY_POINTER int poll__looks_often(struct jank_thread *t, const struct jank_place *at)
{
	struct task_struct *task = KERNEL_CURRENT();

	if (!t || !at || !bpf_core_field_exists(task->nvcsw) ||
	    !poll__is_look(compat__user_regs(task), poll__class(at->nr)))
		return false;
	if (!poll__here(&t->look, at) || t->look_sleeps != (__u32)KREAD(task, nvcsw)) {
		t->look = *at;
		t->look.turn_cnt = 0;
		t->look_sleeps = KREAD(task, nvcsw);
	}
	return ++t->look.turn_cnt >= POLL_LOOKS;
}

/*
 * Starts a trial: the thread waits here on probation. turn_cnt: turns already counted for this
 * place.
 */
static __noinline int poll__try(struct jank_thread *t, const struct jank_place *at, __u32 turn_cnt)
{
	if (startup__on() && t->trial)
		startup__moves(t, KERNEL_CURRENT());
	thread__try(t);
	t->loop = JANK_LOOP_POLL;
	t->phase = JANK_PHASE_WAITING;
	poll__set_place(t, at);
	t->place.turn_cnt = turn_cnt;
	t->row_cnt = turn_cnt;
	t->inner.turn_cnt = 0;
	return 0;
}

/*
 * The thread has waited at its place often enough: this is its loop. A worker's place must be known
 * to user space, which compares its rests with it: the next turns try again while the ring is full.
 */
static __noinline int poll__confirm(struct jank_thread *t, struct task_struct *task, u64 now,
				    __u32 turns)
{
	t->needs_copy =
		pids__tid(task) != pids__tgid(task) && t->place.turn_cnt < turns + POLL_TURNS_MORE;
	if (!loop_wait__announce(now) || !t->needs_copy)
		t->trial = 0;
	t->needs_copy = 0;
	return 0;
}

/*
 * Returns the number of waits in a row at another place that make it the loop. A place on probation
 * where the thread waited only once (it read its input at the start) gives way to one that is not
 * deeper. Callers that are a handler's (t->verdict) outweigh more waits.
 */
static __always_inline __u32 poll__waits_needed(const struct jank_thread *t,
						const struct jank_place *at)
{
	__u32 needed = t->place.turn_cnt + POLL_TURNS;

	if (!t->trial)
		return t->verdict == JANK_PARK_NO ? NESTED_IS_LOOP : POLL_TURNS_INNER;
	if (t->place.turn_cnt <= 1 && loop_wait__not_deeper(t, at->sp + POLL_SP_SLOP))
		return 2;
	return needed < POLL_TURNS_LEFT ? needed : POLL_TURNS_LEFT;
}

/* A handler's own wait: returns true when it has become the loop, as a modal dialog's does. */
static __always_inline bool poll__inner_is_loop(struct jank_thread *t, const struct jank_place *at)
{
	if (!t->inner.turn_cnt || !poll__here(&t->inner, at)) {
		t->inner = *at;
		t->inner.turn_cnt = 0;
	}
	t->inner.set = at->set ?: t->inner.set;
	return ++t->inner.turn_cnt >= poll__waits_needed(t, at);
}

/*
 * Stores in t->verdict what user space knows about the callers of a main thread's wait:
 * JANK_PARK_*, or 0: nothing yet. Only C callers are used: an interpreter's frames would cost each
 * of these programs 16,000 instructions of the verifier, and turns already judge an interpreter's
 * polls.
 */
WALKED_ONCE_BY_POINTER int poll__ask_callers(struct jank_thread *t)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct pt_regs *regs = compat__user_regs(task);

	if (!t)
		return 0;
	t->verdict = 0;
	if (!(chain__kinds(t, task) & JANK_PARKS_MAIN) ||
	    poll__is_look(regs, poll__class(compat__syscall_nr(regs))))
		return 0;
	t->park = (struct jank_park_place){
		.sp = compat__user_sp(regs),
		.tid = pids__tid(task),
		.nr = compat__syscall_nr(regs),
	};
	t->verdict = chain__verdict(pids__tgid(task), t->park.sp, compat__user_ip(regs), 0);
	if (!t->verdict)
		chain__ask(t, task, bpf_ktime_get_ns());
	return 0;
}

/*
 * Asks about the callers of a wait at this place where they decide: on probation, and where the
 * loop has not waited before.
 */
static __always_inline void poll__learn(struct jank_thread *t, struct task_struct *task,
					const struct jank_place *at)
{
	bool is_new = t->phase == JANK_PHASE_NONE || t->phase == JANK_PHASE_CANDIDATE;
	bool moves = t->loop == JANK_LOOP_POLL && !is_new && !t->nested_left &&
		     !poll__here(&t->place, at);

	if (t->trial || is_new || moves || startup__is(t))
		poll__ask_callers(t);
}

/*
 * Is a place further out than the one on trial? For a main thread the callers decide (poll__judge),
 * not the depth.
 */
static __always_inline bool poll__is_outer(const struct jank_thread *t, const struct jank_place *at)
{
	return !t->sp || (loop_wait__not_deeper(t, at->sp) && !(t->parks & JANK_PARKS_MAIN));
}

/*
 * The wait of a thread on probation is at another place than before. The outer place is tried; an
 * inner one is tried once the thread has waited there more often. Returns false when the wait is a
 * handler's, or no evidence of a loop.
 */
WALKED_ONCE_BY_POINTER int poll__moves(struct jank_thread *t, const struct jank_place *at)
{
	struct task_struct *task = KERNEL_CURRENT();

	if (!t || !at)
		return 0;
	t->row_cnt = 0;
	if (!poll__turns_needed(task, compat__user_regs(task), poll__class(at->nr))) {
		if (!poll__looks_often(t, at))
			return false;
		poll__try(t, at, POLL_LOOKS);
		return true;
	}
	if ((t->verdict == JANK_PARK_NO || !poll__is_outer(t, at)) && !poll__inner_is_loop(t, at))
		return false;
	poll__try(t, at, t->inner.turn_cnt && poll__here(&t->inner, at) ? t->inner.turn_cnt : 0);
	return true;
}

/* The loop waits there from here on. */
static __noinline int poll__move(struct jank_thread *t, const struct jank_place *at)
{
	poll__set_place(t, at);
	if (!at->set && poll__here(&t->inner, at))
		t->place.set = t->inner.set;
	t->inner.turn_cnt = 0;
	t->phase = JANK_PHASE_WAITING;
	return true;
}

/* The loop's former place is left: when the open dispatch ended is unknown. */
static __noinline int poll__leave(struct jank_thread *t, const struct jank_place *at)
{
	if (t->start_ns)
		loop_wait__lose(t);
	return poll__move(t, at);
}

/*
 * Does the loop only look for work at its place? Then any wait that may be a loop's is its own, at
 * any depth.
 */
static __always_inline bool poll__only_looks(const struct jank_thread *t)
{
	return t->look.turn_cnt >= POLL_LOOKS && poll__here(&t->place, &t->look);
}

/*
 * A place where the thread waits for one descriptor, in an array on the stack, may be a client's:
 * a Qt program asks the X server a thousand times before its loop begins. It gives way to the first
 * wait for several descriptors from outside. So does the unknown one of a loop that was in a
 * handler when the trace began (opening.bpf.h).
 */
static __always_inline bool poll__gives_way(const struct jank_thread *t,
					    const struct jank_place *at)
{
	if (t->place.nr == POLL_NR_UNKNOWN)
		return true;
	return t->place.fd_cnt == 1 && poll__on_stack(&t->place) && poll__forget(at->fd_cnt) > 1 &&
	       at->nr == t->place.nr && poll__class(at->nr) == JANK_CLASS_POLL_FDS;
}

/*
 * A wait at another place than the loop's. A wait no deeper in the stack ends the dispatch, except
 * a wait for a single answer: the loop's function may have large arrays and so wait deeper than a
 * handler. The verdict of the callers (poll__learn) has priority. Returns false when the wait is a
 * handler's.
 */
WALKED_ONCE_BY_POINTER int poll__elsewhere(struct jank_thread *t, const struct jank_place *at,
					   u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	bool outer, waits;

	if (!t || !at)
		return 0;
	outer = loop_wait__not_deeper(t, at->sp);
	waits = poll__turns_needed(task, compat__user_regs(task), poll__class(at->nr));
	if (t->verdict == JANK_PARK_NO) {
		if (!waits || !poll__inner_is_loop(t, at))
			return false;
		return poll__leave(t, at);
	}
	/* its earlier waits there are in the open dispatch */
	if (waits && t->verdict == JANK_PARK_YES && !outer && t->inner.turn_cnt &&
	    poll__here(&t->inner, at))
		return poll__leave(t, at);
	if (waits && (t->verdict == JANK_PARK_YES || poll__only_looks(t) ||
		      (outer && poll__gives_way(t, at)))) {
		if (t->place.nr == POLL_NR_UNKNOWN)
			loop_wait__announce(now);
		loop_wait__close(t, task, now);
		return poll__move(t, at);
	}
	if (outer && !waits && !poll__looks_often(t, at))
		return false;
	if (outer && waits)
		loop_wait__close(t, task, now);
	if (waits || !outer) {
		if (!poll__inner_is_loop(t, at)) {
			if (outer)
				t->phase = JANK_PHASE_WAITING;
			return outer;
		}
	}
	return poll__leave(t, at);
}

/* The loop's own wait begins, as far as is known by now. Returns false when it is a handler's. */
WALKED_ONCE_BY_POINTER int poll__begun(struct jank_thread *t, const struct jank_place *at, u64 now,
				       __u32 behind)
{
	struct task_struct *task = KERNEL_CURRENT();

	if (!t || !at)
		return 0;
	if (!poll__here(&t->place, at))
		return t->trial ? poll__moves(t, at) : poll__elsewhere(t, at, now);
	if (at->sp + NEST_DEPTH >= t->place.sp) { /* keep the outermost place */
		if (t->nest_ns)
			nest__end(now);
		t->sp = t->place.sp = at->sp;
	} else {
		nest__turn(t, at->sp, now);
	}
	loop_wait__close_behind(t, task, now, behind);
	t->place.fds = at->fds;
	t->place.fd_cnt = at->fd_cnt;
	t->place.set = at->set ?: t->place.set;
	t->inner.turn_cnt = 0;
	t->phase = JANK_PHASE_WAITING;
	return true;
}

/*
 * A thread with a loop in epoll waits for that epoll's descriptor by poll or select, as libraries
 * let programs do (epoll is then asked with a timeout of 0). That is the loop's wait, at any depth.
 */
WALKED_ONCE_BY_POINTER int poll__waits_for_epoll(struct jank_thread *t, __u32 class)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct pt_regs *regs = compat__user_regs(task);

	if (!t || t->fd < 0 || t->loop == JANK_LOOP_POLL || t->loop == JANK_LOOP_PARK)
		return false;
	if (class == JANK_CLASS_POLL_FDS)
		return poll__fds_include(regs, t->fd);
	return class == JANK_CLASS_SELECT && poll__set_includes(regs, t->fd);
}

/* Its wait by poll or select begins. */
static __always_inline void poll__epoll_begun(struct jank_thread *t, struct task_struct *task,
					      u64 now, __u32 behind)
{
	loop_wait__close_behind(t, task, now, behind);
	t->looper_entry = 0;
	t->phase = JANK_PHASE_WAITING;
}

/* A poll returns to a thread with a loop in epoll: was it that loop's wait? */
static __always_inline bool poll__is_in_epolls(const struct jank_thread *t)
{
	return t->phase == JANK_PHASE_WAITING && t->fd >= 0 && t->loop != JANK_LOOP_POLL &&
	       t->loop != JANK_LOOP_PARK;
}

/* What follows until the loop's next wait is a dispatch. */
static __noinline int poll__epoll_turn(struct jank_thread *t, struct task_struct *task, long ret)
{
	t->ready_cnt = ret;
	message__begin(t, 0);
	thread__open(t, task, bpf_ktime_get_ns());
	return 0;
}

/* jank_rec_block.behind: a thread that sleeps has nothing to do, if no freeze made it leave. */
static __always_inline __u32 poll__behind(bool sleeps, bool frozen)
{
	return sleeps && !frozen ? loop_wait__behind(0) : 0;
}

/* The same as poll__or_epoll_leaves for a thread that leaves the CPU in epoll. */
static __always_inline bool poll__epoll_leaves(struct jank_thread *t, struct task_struct *task,
					       struct pt_regs *regs, bool sleeps, bool frozen,
					       u64 now)
{
	bool begun = loop_wait__begun(t, task, regs, now, poll__behind(sleeps, frozen));

	t->nested_left = !begun && !frozen; /* a wait that was interrupted has returned */
	return begun;
}

/*
 * A thread leaves the CPU in a dispatch: does its loop's wait begin with that? A freeze interrupts
 * the wait, which returns for it, and is called again when the thread is thawed: nothing was done
 * for a program that is frozen while it waits.
 */
static __always_inline bool poll__or_epoll_leaves(struct jank_thread *t, struct task_struct *task,
						  bool sleeps, bool frozen, u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_place at;
	bool begun;
	s32 nr;

	if (t->nested_left || (!frozen && !compat__in_syscall(regs)))
		return false;
	nr = compat__syscall_nr(regs);
	if (nr < 0)
		return false;
	if (loop_wait__is_epoll(nr))
		return poll__epoll_leaves(t, task, regs, sleeps, frozen, now);
	if (t->loop == JANK_LOOP_POLL && poll__class_waits(poll__class(nr))) {
		at = poll__place(regs, nr, poll__class(nr));
		poll__read_set(&at);
		poll__learn(t, task, &at);
		begun = poll__begun(t, &at, now, poll__behind(sleeps, frozen));
		t->nested_left = !begun && !frozen; /* a wait that was interrupted has returned */
		return begun;
	}
	begun = poll__class_waits(poll__class(nr)) && poll__waits_for_epoll(t, poll__class(nr));
	if (begun)
		poll__epoll_begun(t, task, now, poll__behind(sleeps, frozen));
	return begun;
}

/* Before the wait, where its begin is probed. */
static __always_inline void poll__enter(struct task_struct *task, struct pt_regs *regs)
{
	struct jank_thread *t = thread__get(task);
	struct jank_place at;
	s32 nr;

	if (!t || t->phase != JANK_PHASE_DISPATCH)
		return;
	nr = compat__syscall_nr(regs);
	if (t->loop != JANK_LOOP_POLL) {
		if (poll__waits_for_epoll(t, poll__class(nr)))
			poll__epoll_begun(t, task, bpf_ktime_get_ns(), 0);
		return;
	}
	at = poll__place(regs, nr, poll__class(nr));
	poll__read_set(&at);
	poll__learn(t, task, &at);
	poll__begun(t, &at, bpf_ktime_get_ns(), 0);
}

/*
 * A wait on probation returned. The verdict of its callers has priority over the depth of the
 * stack: an idle place is tried at once, and a handler's place is replaced by another one. Unless
 * the thread waits only there now: it left the place further out, which made the verdict.
 */
static __noinline int poll__judge(struct jank_thread *t, struct task_struct *task,
				  const struct jank_place *at)
{
	bool here = poll__here(&t->place, at);

	if (t->verdict == JANK_PARK_NO && here && t->row_cnt < POLL_TURNS)
		t->place.sp = t->sp = 0;
	if (t->verdict == JANK_PARK_YES && !here &&
	    poll__turns_needed(task, compat__user_regs(task), poll__class(at->nr))) {
		poll__try(t, at, 0);
		t->nested_left = 0;
	}
	return 0;
}

/*
 * A turn at the place on probation: enough turns, or the verdict of its callers, make the loop.
 * While the callers of a main thread's wait are not known, few turns are not enough: a handler's
 * wait for an answer on D-Bus may have as many.
 */
static __noinline int poll__count(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);
	__u32 needed = poll__turns_needed(task, regs, poll__class(compat__syscall_nr(regs)));

	t->row_cnt++;
	if (t->verdict == JANK_PARK_NO && t->row_cnt < POLL_TURNS)
		return 0;
	if (needed == POLL_TURNS_KNOWN && !t->verdict && t->parks & JANK_PARKS_MAIN)
		needed = POLL_TURNS;
	if (needed ? ++t->place.turn_cnt >= needed || t->verdict == JANK_PARK_YES
		   : t->place.turn_cnt >= POLL_LOOKS)
		poll__confirm(t, task, now, needed);
	return 0;
}

/*
 * May a thread with a state become a polling loop? A thread on probation elsewhere may do so only
 * if the callers of this wait say so, if the other place was a handler's, or if it came here more
 * often.
 */
static __noinline int poll__may_try(struct jank_thread *t, const struct jank_place *at)
{
	if (t->phase == JANK_PHASE_NONE || t->phase == JANK_PHASE_CANDIDATE)
		return true;
	return t->trial &&
	       (t->verdict == JANK_PARK_YES || !t->place.sp || poll__inner_is_loop(t, at));
}

/*
 * A wait at another place than the loop's has ended the dispatch, and its callers have become known
 * meanwhile: the loop waits there.
 */
static __always_inline void poll__follows(struct jank_thread *t, const struct jank_place *at)
{
	if (t->phase == JANK_PHASE_WAITING && t->verdict == JANK_PARK_YES &&
	    !poll__here(&t->place, at))
		poll__move(t, at);
}

/*
 * Returns the state of a polling thread, created on the first wait that may be a loop's; NULL:
 * none, or not traced.
 */
static __noinline struct jank_thread *poll__thread(struct task_struct *task,
						   const struct jank_place *at)
{
	struct jank_thread *t = thread__get(task);

	if (t && (t->loop == JANK_LOOP_POLL || poll__is_in_epolls(t) || startup__is(t)))
		return t;
	if (t ? t->rests || (t->off && off__ends(t, task)) : filter__is_left(task))
		return NULL;
	if (t ? t->phase != JANK_PHASE_NONE && t->loop != JANK_LOOP_PARK
	      : !filter__wants(JANK_LOOP_POLL) || !filter__traced(task))
		return NULL;
	if (!poll__turns_needed(task, compat__user_regs(task), poll__class(at->nr)) &&
	    !poll__is_look(compat__user_regs(task), poll__class(at->nr)))
		return NULL;
	return t ? t : thread__create(task);
}

/*
 * Starts a trial at this place. Returns false when the thread only looks for work, and not often
 * enough.
 */
static __noinline int poll__begins_trial(struct jank_thread *t, struct task_struct *task,
					 const struct jank_place *at)
{
	bool waits = poll__turns_needed(task, compat__user_regs(task), poll__class(at->nr));

	if (!waits && (t->verdict == JANK_PARK_NO || !poll__looks_often(t, at)))
		return false;
	poll__try(t, at, waits ? 0 : POLL_LOOKS);
	return true;
}

/* Does a poll of a main thread belong to its start-up? See startup_poll.bpf.h. */
static __noinline int poll__is_startups(struct jank_thread *t, struct task_struct *task,
					const struct jank_place *at)
{
	struct pt_regs *regs = compat__user_regs(task);

	return startup__on() &&
	       !startup__polled(t, at,
				poll__turns_needed(task, regs, poll__class(at->nr)) ||
					poll__looks_often(t, at));
}

/* poll, ppoll, select, pselect6 or io_uring_enter returned. */
static __always_inline void poll__turn(struct task_struct *task, struct pt_regs *regs,
				       const struct jank_place *at, long ret)
{
	struct jank_thread *t = poll__thread(task, at);
	u64 now;

	if (!t)
		return;
	if (poll__is_in_epolls(t)) {
		poll__epoll_turn(t, task, ret);
		return;
	}
	poll__learn(t, task, at);
	if (t->loop != JANK_LOOP_POLL) {
		if (poll__is_startups(t, task, at) || !poll__may_try(t, at) ||
		    !poll__begins_trial(t, task, at))
			return;
	}
	now = bpf_ktime_get_ns();
	if (t->trial)
		poll__judge(t, task, at);
	else
		poll__follows(t, at);
	if (t->nested_left) {
		t->nested_left = 0;
		return;
	}
	if (t->phase == JANK_PHASE_DISPATCH &&
	    (!jank_conf.infer_begin || !poll__begun(t, at, now, loop_wait__behind(ret))))
		return;
	if (t->trial && poll__here(&t->place, at))
		poll__count(t, task, now);
	t->ready_cnt = ret;
	message__begin(t, 0);
	nest__open(t, task, now);
}

#endif
