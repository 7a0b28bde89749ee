/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parks: a runtime's worker that has nothing to do sleeps on a futex, where other loops wait in epoll. Only
 * user space can tell a park from a handler that waits for a mutex, by the functions around it. So it says which
 * processes have parks at all and, asked, by which return addresses they are known (jank_parks).
 * Threads of other processes pay no more than a comparison where they sleep on a futex within a dispatch.
 */
#ifndef JANK_PARK_BPF_H
#define JANK_PARK_BPF_H

#include "bpf/await.bpf.h"
#include "bpf/poll.bpf.h"

/* So many parks at one place make a loop of a thread that waits nowhere else. */
#define PARK_TURNS 3

/* A thread asks at most so often in so long a time, and only once for one place. */
#define PARK_ASKS    4
#define PARK_ASKS_NS 32000000

static __always_inline bool park__same(const struct jank_park_place *a,
				       const struct jank_park_place *b)
{
	return a->sp == b->sp && a->arg0 == b->arg0 && a->nr == b->nr;
}

/* What is known of the thread's process: looked up when user space has said something new. */
static __always_inline __u32 park__of_process(struct jank_thread *t, struct task_struct *task)
{
	__u32 gen = thread__park_gen(), tgid = KREAD(task, tgid);
	struct jank_parks *parks;

	if (t->park_gen != gen) {
		parks = bpf_map_lookup_elem(&jank_parkers, &tgid);
		t->parks = parks ? parks->kinds : 0;
		if (t->parks == JANK_PARKS_MAIN && (__u32)KREAD(task, pid) != tgid)
			t->parks = 0;
		t->park_gen = gen;
	}
	return t->parks;
}

/* Asks user space, by the stack as the thread falls asleep. */
static __always_inline void park__ask(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_rec_wait rec = {};

	if (now >= t->park_ask_ns) {
		t->park_ask_ns = now + PARK_ASKS_NS;
		t->park_ask_cnt = 0;
	} else if (t->park_ask_cnt >= PARK_ASKS || park__same(&t->park, &t->asked)) {
		return;
	}
	t->park_ask_cnt++;
	t->asked = t->park;
	copy__send_wait(task, now);
	record__head(&rec.hdr, JANK_REC_WAIT, sizeof(rec), now, task);
	rec.sp = t->park.sp;
	rec.ip = compat__user_ip(compat__user_regs(task));
	rec.syscall = t->park.nr;
	rec.loop = JANK_LOOP_PARK;
	record__comm(rec.comm, task);
	record__send(&rec, sizeof(rec));
}

/* The current task's stack: a word that fits is a return address, for so was the one before it. */
static __always_inline bool park__fits(const struct jank_park_chain *chain, u64 sp)
{
	u64 word;

	for (int i = 0; i < JANK_PARK_WORD_MAX; i++) {
		if (i >= chain->word_cnt)
			break;
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(sp + chain->offset[i])) ||
		    compat__strip(word) != chain->word[i])
			return false;
	}
	return true;
}

/* JANK_PARK_* of the current task's stack, or 0: no such chain is known. */
static __noinline int park__by_chain(__u32 tgid, u64 sp, u64 ip)
{
	const struct jank_parks *parks = bpf_map_lookup_elem(&jank_parkers, &tgid);

	if (!parks)
		return 0;
	for (int i = 0; i < JANK_PARK_CHAIN_MAX; i++) {
		const struct jank_park_chain *chain = &parks->chains[i];

		if (!chain->verdict)
			break;
		if (chain->ip == ip && park__fits(chain, sp))
			return chain->verdict;
	}
	return 0;
}

/* What a lock's word holds while somebody waits for it: glibc's lowlevellock, Rust's and musl's mutexes. */
#define FUTEX_CONTENDED 2

/* FUTEX_LOCK_PI and FUTEX_LOCK_PI2 (uapi/linux/futex.h) */
#define FUTEX_LOCK_PI  6
#define FUTEX_LOCK_PI2 13

static __always_inline bool park__is_lock(struct pt_regs *regs)
{
	__u32 cmd = compat__syscall_arg(regs, 1) & FUTEX_CMD_MASK;

	return cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2 ||
	       (cmd == FUTEX_WAIT && (__u32)compat__syscall_arg(regs, 2) == FUTEX_CONTENDED);
}

/* May the place be the idle place of a main thread? Not if that waits in epoll, or polls from further out. */
static __always_inline bool park__may_be_main(const struct jank_thread *t, __u32 class,
					      struct pt_regs *regs)
{
	return class == JANK_CLASS_FUTEX &&
	       (t->loop == JANK_LOOP_PARK || (t->trial && compat__user_sp(regs) > t->place.sp)) &&
	       !park__is_lock(regs);
}

/*
 * A thread falls asleep on a futex or for a time. Is it a park (JANK_PARK_YES), none, or is that not known (0)? Then it may turn
 * out to be one.
 */
static __noinline int park__verdict(struct jank_thread *t, struct task_struct *task, __u32 class,
				    u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);
	__u32 parks = park__of_process(t, task), verdict;
	struct jank_park_place at = {
		.sp = compat__user_sp(regs),
		.arg0 = compat__syscall_arg(regs, 0),
		.tid = KREAD(task, pid),
		.nr = compat__syscall_nr(regs),
	};

	t->park_start_ns = 0;
	if (!parks)
		return JANK_PARK_NO;
	t->park_cnt = park__same(&t->park, &at) ? t->park_cnt + 1 : 1;
	t->park = at;
	if (parks & JANK_PARKS_ANY_FUTEX && class == JANK_CLASS_FUTEX)
		return JANK_PARK_YES;
	if (!(parks & JANK_PARKS_BY_PLACE) &&
	    !(parks & JANK_PARKS_MAIN && park__may_be_main(t, class, regs)))
		return JANK_PARK_NO;
	verdict = park__by_chain(KREAD(task, tgid), at.sp, compat__user_ip(regs));
	if (!verdict) {
		t->park_left_ns = now;
		park__ask(t, task, now);
	}
	return verdict;
}

/* The thread waits here from now on, on probation. */
static __always_inline void park__try(struct jank_thread *t, u64 sp, s32 nr)
{
	thread__try(t);
	t->loop = JANK_LOOP_PARK;
	t->place.sp = sp;
	t->place.nr = nr;
	t->sp = sp;
}

/* With a timeout and without, the C library waits at depths that differ by some bytes. */
static __always_inline bool park__is_tried(const struct jank_thread *t)
{
	return t->trial && t->loop == JANK_LOOP_PARK && t->place.nr == t->park.nr &&
	       t->park.sp + POLL_SP_SLOP >= t->place.sp && t->park.sp <= t->place.sp + POLL_SP_SLOP;
}

/*
 * A main thread waits where nothing is known yet: its dispatches are on probation, as those of loops that poll are (poll__try). False:
 * the place is deeper in the stack than the one that is tried.
 */
static __always_inline bool park__tries(struct jank_thread *t, struct task_struct *task, u64 now)
{
	if (!(t->parks & JANK_PARKS_MAIN) || (!t->trial && t->phase != JANK_PHASE_CANDIDATE))
		return false;
	if (park__is_tried(t)) {
		wait__close(t, task, now);
	} else {
		if (t->trial && t->park.sp < t->place.sp)
			return false;
		park__try(t, t->park.sp, t->park.nr);
	}
	t->phase = JANK_PHASE_PARKED;
	return true;
}

/* Its park is its loop's wait from here on, if it has come there often enough: of a main thread's, user space has counted. */
static __noinline int park__adopt(struct jank_thread *t, struct task_struct *task, u64 now)
{
	if (park__is_tried(t))
		wait__close(t, task, now);
	else
		thread__end_trial(t);
	t->loop = JANK_LOOP_PARK;
	t->phase = JANK_PHASE_CANDIDATE;
	if (t->park_cnt < PARK_TURNS && !(t->parks & JANK_PARKS_MAIN))
		return 0;
	t->phase = JANK_PHASE_PARKED;
	t->sp = t->park.sp;
	t->place.turn_cnt = t->park_cnt;
	wait__announce(t, task, now);
	t->trial = 0;
	return 0;
}

/* A thread with an open dispatch goes to sleep: true when that is its loop's wait, and ends the dispatch. */
static __noinline int park__leaves(struct jank_thread *t, struct task_struct *task, __u32 state,
				   u64 now)
{
	__u32 class = state == JANK_STATE_FUTEX ? JANK_CLASS_FUTEX : JANK_CLASS_SLEEP;
	__u32 verdict = park__verdict(t, task, class, now);

	if (verdict != JANK_PARK_YES)
		return !verdict && park__tries(t, task, now);
	if (t->trial) {
		park__adopt(t, task, now);
		return true;
	}
	wait__close(t, task, now);
	t->looper_entry = 0;
	t->phase = JANK_PHASE_PARKED;
	return true;
}

/* A parked thread gets the CPU: what it does now is a dispatch. */
static __always_inline void park__arrives(struct jank_thread *t, struct task_struct *task, u64 now)
{
	t->ready_cnt = 0;
	t->early_wake_ns = 0;
	message__begin(t, 0);
	thread__open(t, task, now);
	t->park_start_ns = now;
}

/* A main thread gets the CPU that slept before it was known: its first dispatch is on probation. */
static __noinline int park__meets(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);
	s32 nr = compat__syscall_nr(regs);

	if (poll__class(nr) != JANK_CLASS_FUTEX || park__is_lock(regs))
		return 0;
	park__try(t, compat__user_sp(regs), nr);
	park__arrives(t, task, now);
	return 0;
}

/*
 * It comes back from a wait of which nothing was known when it left. If user space has found a park there since, the
 * dispatch ended as the thread left.
 */
static __noinline int park__was_one(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_park_place place = t->park;
	u64 left = t->span.rec.t_ns;
	__u32 *verdict = bpf_map_lookup_elem(&jank_parks, &place);

	if (!verdict || *verdict != JANK_PARK_YES)
		return false;
	if (t->state == JANK_STATE_RUNNABLE) /* its waker has accounted the sleep */
		t->state_ns[t->span.rec.state & 15] -= t->mark_ns - left;
	thread__set_counted(t, 0);
	t->state = JANK_STATE_RUNNING;
	t->mark_ns = left;
	t->clock_off_ns -= now - left; /* its CPU clock stood still meanwhile */
	wait__close(t, task, left);
	t->clock_off_ns += now - left;
	park__arrives(t, task, now);
	return true;
}

/* A thread that isn't known to be a loop goes to sleep: is it a worker that parks once more? */
static __noinline int park__considers(struct jank_thread *t, struct task_struct *task, u64 now)
{
	__u32 class = poll__class(compat__syscall_nr(compat__user_regs(task))), verdict;

	if (class != JANK_CLASS_FUTEX && class != JANK_CLASS_SLEEP)
		return 0;
	verdict = park__verdict(t, task, class, now);
	if (verdict == JANK_PARK_YES)
		return park__adopt(t, task, now);
	return !verdict && park__tries(t, task, now);
}

/* A thread that ends: is it still in the park that opened its dispatch, so that it has none? */
static __always_inline bool park__ends_in_one(const struct jank_thread *t,
					      const struct pt_regs *regs)
{
	return t->park_start_ns == t->start_ns && compat__syscall_nr(regs) == t->park.nr &&
	       compat__user_sp(regs) == t->park.sp;
}

#endif
