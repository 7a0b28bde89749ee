/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Dispatches from waits: the end of the loop's wait opens a dispatch, the begin of the next wait
 * closes it.
 *
 * The loop's wait is the outermost one. A wait on the loop's own descriptor ends the dispatch at
 * any depth. A wait on another descriptor deeper in the stack belongs to the handler; it counts as
 * blocked time of its dispatch. A wait on another descriptor at the same depth or above means that
 * the thread went to another loop.
 */
#ifndef JANK_LOOP_WAIT_BPF_H
#define JANK_LOOP_WAIT_BPF_H

#include "bpf/copy_user_stack.bpf.h"
#include "bpf/loop.bpf.h"
#include "bpf/message.bpf.h"
#include "bpf/nest.bpf.h"
#include "bpf/off.bpf.h"
#include "bpf/startup.bpf.h"
#include "bpf/thread.bpf.h"

/* So many consecutive waits of a handler from one place count as a loop of its own. */
#define NESTED_IS_LOOP 256
_Static_assert(NESTED_IS_LOOP == 1 << 8 * sizeof(((struct jank_thread *)0)->nested_cnt),
	       "loop_wait__nested counts until it overflows");

/* One function for each record: the kernel limits the sum of the stack frames of a call chain. */
static __noinline int loop_wait__send_loop(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_rec_loop rec = {};

	record__head(&rec.hdr, JANK_REC_LOOP, sizeof(rec), now, task);
	rec.hdr.flags = t->trial;
	rec.loop = t->loop;
	rec.fd = t->fd;
	rec.key = t->key;
	record__comm(rec.comm, task);
	return record__send(&rec, sizeof(rec));
}

static __always_inline int loop_wait__send_of(struct jank_thread *t, struct task_struct *task,
					      u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_rec_wait *rec = record__reserve(sizeof(*rec));

	if (!rec)
		return -1;
	__builtin_memset(rec, 0, sizeof(*rec));
	record__head(&rec->hdr, JANK_REC_WAIT, sizeof(*rec), now, task);
	rec->hdr.flags = t->trial;
	rec->sp = compat__user_sp(regs);
	rec->ip = compat__user_ip(regs);
	rec->syscall = compat__syscall_nr(regs);
	rec->turn_cnt = t->place.turn_cnt;
	rec->fd_cnt = t->trial ? (now - t->trial_ns) / 1000000 : 0; /* ms */
	rec->loop = t->loop;
	record__comm(rec->comm, task);
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* The same for the current task. */
WALKED_ONCE_BY_POINTER int loop_wait__send(struct jank_thread *t, u64 now)
{
	return t ? loop_wait__send_of(t, KERNEL_CURRENT(), now) : -1;
}

/* The open dispatch is not reported: when it ended is not known. */
WALKED_ONCE_BY_POINTER int loop_wait__lose(struct jank_thread *t)
{
	if (!t)
		return 0;
	thread__forget_dispatch(t);
	lost__add(JANK_LOST_LOOP_CHANGED);
	return 0;
}

static __always_inline int loop_wait__announce_as(struct jank_thread *t, struct task_struct *task,
						  u64 now)
{
	if (share__is_over(t->user, SHARE_BLOCK_SZ + JANK_COPY_SZ, JANK_SHARE_RECORD))
		return -1;
	if (t->needs_copy && copy_user_stack__send_wait(now))
		return -1;
	loop_wait__send_loop(t, task, now);
	if (!t->needs_copy)
		copy_user_stack__send_wait(now);
	return loop_wait__send(t, now);
}

/*
 * Sends the copy of the current task's stack in its loop's wait, the records of the loop and of
 * that place, and the start-up that has ended with it.
 */
WALKED_ONCE int loop_wait__announce(u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t = thread__get(task);
	int res;

	if (!t)
		return -1;
	res = loop_wait__announce_as(t, task, now);
	if (startup__on())
		startup__looped(t, now);
	return res;
}

WALKED_ONCE_BY_POINTER int loop_wait__adopt(struct jank_thread *t, s32 fd, u64 sp, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	bool first;

	if (!t)
		return 0;
	first = t->fd < 0;
	if (startup__on() && t->trial)
		startup__goes_on(t, task);
	if (!thread__end_trial(t) && t->start_ns)
		loop_wait__lose(t);
	if (t->loop == JANK_LOOP_PARK) {
		t->loop = JANK_LOOP_EPOLL;
		t->place.turn_cnt = 0;
	}
	loop__set_fd(t, task, fd);
	nest__forget(t);
	t->code = compat__user_ip(compat__user_regs(task));
	t->sp = sp;
	t->nested_cnt = 0;
	return first ? loop_wait__announce(now) : 0;
}

/* Is a wait no deeper in the stack than the loop's? */
static __always_inline bool loop_wait__not_deeper(const struct jank_thread *t, u64 sp)
{
	return sp >= t->sp;
}

/*
 * A wait on another descriptor than the loop's: returns true when it is the handler's own.
 * Otherwise the thread left the loop: its descriptor was closed, or the same inner wait occurred
 * NESTED_IS_LOOP times.
 */
static __noinline int loop_wait__nested(struct jank_thread *t, struct task_struct *task, s32 fd,
					u64 sp)
{
	if (t->fd < 0 || loop_wait__not_deeper(t, sp))
		return false;
	if (t->nested_fd != fd || t->nested_sp != sp) {
		t->nested_fd = fd;
		t->nested_sp = sp;
		t->nested_cnt = 0;
	}
	if (!++t->nested_cnt)
		return false;
	return loop__lives(t, task) && loop__file(task, t->fd) != loop__file(task, fd);
}

/*
 * Returns the state of a thread that waits, created on its first wait; NULL when it is not traced.
 */
static __always_inline struct jank_thread *loop_wait__thread(struct task_struct *task, __u32 loop)
{
	struct jank_thread *t = thread__get(task);

	if (t || filter__is_left(task) || !filter__wants(loop) || !filter__traced(task) ||
	    off__waits(task))
		return t;
	return thread__create(task);
}

/*
 * Returns the stack pointer of a wait: `sp` from the probe, or, if 0, from the registers saved at
 * kernel entry.
 */
static __always_inline u64 loop_wait__sp(struct task_struct *task, u64 sp)
{
	return sp ? sp : compat__user_sp(compat__user_regs(task));
}

/*
 * Returns jank_rec_block.behind for a wait that returned `ret`. It did not sleep, so these events
 * were ready when it began.
 */
static __always_inline __u32 loop_wait__behind(long ret)
{
	if (ret < 0)
		return 0;
	return ret < 0xffff ? ret + 1 : 0xffff;
}

/*
 * The loop's own wait begins: closes the open dispatch. behind: see jank_rec_block; own: see
 * thread__close_as.
 */
static __always_inline void loop_wait__close_as(struct jank_thread *t, struct task_struct *task,
						u64 now, __u32 behind, bool own)
{
	if (t->looper_entry)
		thread__forget_dispatch(t);
	else if (t->start_ns)
		thread__close_as(t, task, now, JANK_END_WAIT | behind << 16, pids__tid(task), own);
}

static __always_inline void loop_wait__close_behind(struct jank_thread *t, struct task_struct *task,
						    u64 now, __u32 behind)
{
	loop_wait__close_as(t, task, now, behind, true);
}

static __always_inline void loop_wait__close(struct jank_thread *t, struct task_struct *task,
					     u64 now)
{
	loop_wait__close_behind(t, task, now, 0);
}

/*
 * Does a thread without a loop, beside the main one, only look at its descriptors? Such a call
 * makes no loop. The threads that carry Java's virtual threads look so between two tasks (from JDK
 * 22 on), and rest in their pool. epoll_pwait2 counts as a wait: its time is behind a pointer.
 */
static __noinline int loop_wait__only_looks(struct task_struct *task)
{
	struct pt_regs *regs = compat__user_regs(task);
	s32 nr = compat__syscall_nr(regs);
	bool is_wait = false;

	if (nr < 0 || pids__tid(task) == pids__tgid(task))
		return false;
#pragma unroll
	for (int i = 0; i < JANK_EPOLL_CNT; i++)
		is_wait |= i % (JANK_EPOLL_CNT / 2) < 2 && nr == jank_conf.epoll_nr[i];
	return is_wait && !(s32)compat__syscall_arg(regs, 3);
}

/* A wait on another descriptor than the loop's. Returns false when it is the handler's own. */
WALKED_ONCE_BY_POINTER int loop_wait__other(struct jank_thread *t, s32 fd, u64 sp, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();

	if (!t || t->off || loop_wait__nested(t, task, fd, sp))
		return false;
	if (t->fd < 0 && !t->looper_entry && loop_wait__only_looks(task))
		return false;
	if (startup__is(t))
		startup__end(t, now);
	/*
	 * If the thread left its loop from within a dispatch, that dispatch has no end:
	 * loop_wait__adopt discards it.
	 */
	if (t->looper_entry || t->fd < 0 || loop_wait__not_deeper(t, sp))
		loop_wait__close(t, task, now);
	loop_wait__adopt(t, fd, sp, now);
	return true;
}

/*
 * A thread with a polling loop, or a candidate for one, waits in epoll. Returns true when epoll is
 * its loop from here on, false for a handler's wait deeper in the stack.
 */
static __noinline int loop_wait__from_poll(struct jank_thread *t, struct task_struct *task, u64 sp)
{
	if (off__waits(task))
		return false;
	if (startup__on() && t->trial)
		startup__goes_on(t, task);
	if (!thread__end_trial(t)) {
		if (sp < t->sp)
			return false;
		if (t->start_ns)
			loop_wait__lose(t);
	}
	t->loop = JANK_LOOP_EPOLL;
	t->phase = JANK_PHASE_NONE;
	t->place.turn_cnt = 0;
	return true;
}

/* The loop's wait begins at another depth than before. A place further out is sent again. */
static __noinline int loop_wait__at_depth(struct jank_thread *t, struct task_struct *task, u64 sp,
					  u64 now)
{
	if (!nest__turn(t, sp, now))
		return 0;
	copy_user_stack__send_wait(now);
	return loop_wait__send(t, now);
}

/* A thread is about to wait in epoll. sp: see loop_wait__sp. */
static __always_inline void loop_wait__begin(struct task_struct *task, s32 fd, u64 sp)
{
	struct jank_thread *t = loop_wait__thread(task, JANK_LOOP_EPOLL);
	u64 now;

	if (!t)
		return;
	if (t->loop == JANK_LOOP_POLL && !loop_wait__from_poll(t, task, loop_wait__sp(task, sp)))
		return;
	now = bpf_ktime_get_ns();
	if (fd == t->fd) {
		sp = loop_wait__sp(task, sp);
		if (sp != t->turn_sp)
			loop_wait__at_depth(t, task, sp, now);
		loop_wait__close(t, task, now);
		t->nested_cnt = 0;
	} else if (!loop_wait__other(t, fd, loop_wait__sp(task, sp), now)) {
		return;
	}
	t->looper_entry = 0;
	t->phase = JANK_PHASE_WAITING;
}

static __always_inline bool loop_wait__is_epoll(long nr)
{
	if (nr < 0)
		return false;
#pragma unroll
	for (int i = 0; i < JANK_EPOLL_CNT; i++)
		if (nr == jank_conf.epoll_nr[i])
			return true;
	return false;
}

/*
 * The wait began before the trace. If the registers still show its system call, they identify the
 * loop. Otherwise the first handler's wait would be mistaken for the loop's.
 */
static __noinline int loop_wait__learn_loop(struct jank_thread *t, struct task_struct *task,
					    u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);

	if (!loop_wait__is_epoll(compat__syscall_nr(regs)))
		return 0;
	return loop_wait__adopt(t, compat__syscall_arg(regs, 0), compat__user_sp(regs), now);
}

/*
 * A dispatch is open, and a wait on fd has returned. If it is the loop's own wait, its begin was
 * missed (bpf/preempt.bpf.h), and the dispatch would include it: gives the dispatch up. Returns
 * false for a handler's wait.
 */
static __noinline int loop_wait__missed(struct jank_thread *t, s32 fd)
{
	if (fd < 0 || fd != t->fd || t->looper_entry)
		return false;
	loop_wait__lose(t);
	return true;
}

/*
 * A wait on fd (-1: not known) in epoll returned; events: see message__begin. A wait that began
 * before the trace also opens a dispatch.
 */
static __always_inline void loop_wait__end(struct task_struct *task, long ret, s32 fd, u64 events)
{
	struct jank_thread *t = loop_wait__thread(task, JANK_LOOP_EPOLL);
	u64 now;

	if (!t || t->loop == JANK_LOOP_POLL)
		return;
	if (t->phase == JANK_PHASE_DISPATCH && !loop_wait__missed(t, fd))
		return;
	now = bpf_ktime_get_ns();
	if (t->fd < 0) {
		if (off__ends(t, task) || loop_wait__only_looks(task))
			return;
		loop_wait__learn_loop(t, task, now);
	}
	t->ready_cnt = ret;
	message__begin(t, events);
	nest__open(t, task, now);
}

/*
 * The loop's own wait on fd begins, as far as is known by now. Returns false when it is a
 * handler's.
 */
static __always_inline bool loop_wait__begun(struct jank_thread *t, struct task_struct *task,
					     struct pt_regs *regs, u64 now, __u32 behind)
{
	s32 fd = compat__syscall_arg(regs, 0);

	if (t->loop == JANK_LOOP_POLL && !loop_wait__from_poll(t, task, compat__user_sp(regs)))
		return false;
	if (fd != t->fd) {
		if (!loop_wait__other(t, fd, compat__user_sp(regs), now))
			return false;
	} else {
		if (compat__user_sp(regs) != t->turn_sp)
			loop_wait__at_depth(t, task, compat__user_sp(regs), now);
		loop_wait__close_behind(t, task, now, behind);
		t->nested_cnt = 0;
	}
	t->looper_entry = 0;
	t->phase = JANK_PHASE_WAITING;
	return true;
}

/*
 * A wait returned, and its begin was not probed. A probe there would cost as much as the one at the
 * end. A wait that sleeps begins when the thread leaves the CPU in it. A wait that finds its events
 * ready begins and ends when it returns. A dispatch therefore ends a microsecond late, including
 * the system call that ends it. See poll__or_epoll_leaves for waits that sleep.
 */
static __always_inline void loop_wait__turn(struct task_struct *task, struct pt_regs *regs,
					    long ret)
{
	struct jank_thread *t = loop_wait__thread(task, JANK_LOOP_EPOLL);
	u64 now;

	if (!t)
		return;
	if (t->nested_left) {
		t->nested_left = 0;
		return;
	}
	now = bpf_ktime_get_ns();
	if (t->phase == JANK_PHASE_DISPATCH) {
		if (!loop_wait__begun(t, task, regs, now, loop_wait__behind(ret))) {
			off__ends(t, task);
			return;
		}
	} else if (t->loop == JANK_LOOP_POLL &&
		   !loop_wait__from_poll(t, task, compat__user_sp(regs))) {
		return;
	} else if (t->fd < 0) {
		if (off__ends(t, task) || loop_wait__only_looks(task))
			return;
		loop_wait__learn_loop(t, task, now);
	}
	t->ready_cnt = ret;
	message__begin(t, compat__syscall_arg(regs, 1));
	nest__open(t, task, now);
}

#endif
