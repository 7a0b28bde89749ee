/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits make dispatches: the end of the loop's wait opens one, the next wait's begin closes it.
 *
 * The loop's wait is the outermost one. A wait on the loop's own descriptor ends the dispatch at
 * whatever depth; a wait on another descriptor from deeper in the stack is the handler's, and time
 * blocked in its dispatch; one from the same depth or above means that the thread went to another
 * loop.
 */
#ifndef JANK_LOOP_WAIT_BPF_H
#define JANK_LOOP_WAIT_BPF_H

#include "bpf/copy_user_stack.bpf.h"
#include "bpf/loop.bpf.h"
#include "bpf/message.bpf.h"
#include "bpf/off.bpf.h"
#include "bpf/thread.bpf.h"

/* So many of a handler's waits in a row, from one place, are a loop of their own. */
#define NESTED_IS_LOOP 256

/*
 * Each record has a function of its own: the kernel adds up what the functions of a call chain have
 * on the stack.
 */
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

static __noinline int loop_wait__send(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_rec_wait rec = {};

	record__head(&rec.hdr, JANK_REC_WAIT, sizeof(rec), now, task);
	rec.hdr.flags = t->trial;
	rec.sp = compat__user_sp(regs);
	rec.ip = compat__user_ip(regs);
	rec.syscall = compat__syscall_nr(regs);
	rec.turn_cnt = t->place.turn_cnt;
	rec.loop = t->loop;
	record__comm(rec.comm, task);
	return record__send(&rec, sizeof(rec));
}

/* Tells of a loop, and where it waits. */
static __noinline int loop_wait__announce(struct jank_thread *t, struct task_struct *task, u64 now)
{
	loop_wait__send_loop(t, task, now);
	copy_user_stack__send_wait(task, now);
	return loop_wait__send(t, task, now);
}

static __noinline int loop_wait__adopt(struct jank_thread *t, struct task_struct *task, s32 fd,
				       u64 sp, u64 now)
{
	bool first = t->fd < 0;

	if (!thread__end_trial(t) && t->start_ns) {
		thread__forget_dispatch(t);
		lost__add(JANK_LOST_LOOP_CHANGED);
	}
	if (t->loop == JANK_LOOP_PARK) {
		t->loop = JANK_LOOP_EPOLL;
		t->place.turn_cnt = 0;
	}
	loop__set_fd(t, task, fd);
	t->code = compat__user_ip(compat__user_regs(task));
	t->sp = sp;
	t->nested_cnt = 0;
	return first ? loop_wait__announce(t, task, now) : 0;
}

/* Is a wait no deeper in the stack than the loop's? */
static __always_inline bool loop_wait__not_deeper(const struct jank_thread *t, u64 sp)
{
	return sp >= t->sp;
}

/*
 * A wait on another descriptor than the loop's: true when it is the handler's own. Otherwise the
 * loop was left: its descriptor was closed, or the same inner wait came again and again.
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
	if (++t->nested_cnt >= NESTED_IS_LOOP)
		return false;
	return loop__lives(t, task) && loop__file(task, t->fd) != loop__file(task, fd);
}

/* The state of a thread that waits, made on its first wait; NULL when it is not traced. */
static __always_inline struct jank_thread *loop_wait__thread(struct task_struct *task, __u32 loop)
{
	struct jank_thread *t = thread__get(task);

	if (t || !filter__wants(loop) || !filter__traced(task) || off__waits(task))
		return t;
	return thread__create(task);
}

/*
 * The stack pointer of a wait: as the probe has it, or (0) from the registers saved at kernel
 * entry.
 */
static __always_inline u64 loop_wait__sp(struct task_struct *task, u64 sp)
{
	return sp ? sp : compat__user_sp(compat__user_regs(task));
}

/* Of a wait that returned what is ready: that was so when it began, since it did not sleep. */
static __always_inline __u32 loop_wait__behind(long ret)
{
	if (ret < 0)
		return 0;
	return ret < 0xffff ? ret + 1 : 0xffff;
}

/* The loop's own wait begins: what was open ends. behind: see jank_rec_block. */
static __always_inline void loop_wait__close_behind(struct jank_thread *t, struct task_struct *task,
						    u64 now, __u32 behind)
{
	if (t->looper_entry)
		thread__forget_dispatch(t);
	else if (t->start_ns)
		thread__close(t, task, now, JANK_END_WAIT | behind << 16);
}

static __always_inline void loop_wait__close(struct jank_thread *t, struct task_struct *task,
					     u64 now)
{
	loop_wait__close_behind(t, task, now, 0);
}

/* A wait on another descriptor than the loop's. False: it is the handler's own. */
static __noinline int loop_wait__other(struct jank_thread *t, struct task_struct *task, s32 fd,
				       u64 sp, u64 now)
{
	if (t->off || loop_wait__nested(t, task, fd, sp))
		return false;
	/*
	 * A dispatch of a loop that was left from within has no end: loop_wait__adopt gives it up.
	 */
	if (t->looper_entry || t->fd < 0 || loop_wait__not_deeper(t, sp))
		loop_wait__close(t, task, now);
	loop_wait__adopt(t, task, fd, sp, now);
	return true;
}

/*
 * A thread that polls, or may become a loop that does, waits in epoll: true when epoll is its loop
 * from here on, false for a wait of its handler's, deeper in the stack.
 */
static __noinline int loop_wait__from_poll(struct jank_thread *t, struct task_struct *task, u64 sp)
{
	if (off__waits(task))
		return false;
	if (!thread__end_trial(t)) {
		if (sp < t->sp)
			return false;
		if (t->start_ns) {
			thread__forget_dispatch(t);
			lost__add(JANK_LOST_LOOP_CHANGED);
		}
	}
	t->loop = JANK_LOOP_EPOLL;
	t->phase = JANK_PHASE_NONE;
	t->place.turn_cnt = 0;
	return true;
}

/* The outermost wait's depth need not be known on each wait: so many dispatches may pass. */
#define SP_EVERY 64

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
		loop_wait__close(t, task, now);
		t->nested_cnt = 0;
		if (!(t->dispatch_cnt % SP_EVERY)) {
			sp = loop_wait__sp(task, sp);
			if (sp > t->sp)
				t->sp = sp;
		}
	} else if (!loop_wait__other(t, task, fd, loop_wait__sp(task, sp), now)) {
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
 * The wait began before we came. Its registers, if this is still its system call, tell whose it
 * was: not knowing the loop, we would take for it what the first handler waits for.
 */
static __noinline int loop_wait__learn_loop(struct jank_thread *t, struct task_struct *task,
					    u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);

	if (!loop_wait__is_epoll(compat__syscall_nr(regs)))
		return 0;
	return loop_wait__adopt(t, task, compat__syscall_arg(regs, 0), compat__user_sp(regs), now);
}

/*
 * A wait in epoll returned; events: see message__begin. One that began before we came opens a
 * dispatch, too.
 */
static __always_inline void loop_wait__end(struct task_struct *task, long ret, u64 events)
{
	struct jank_thread *t = loop_wait__thread(task, JANK_LOOP_EPOLL);
	u64 now;

	if (!t || t->phase == JANK_PHASE_DISPATCH || t->loop == JANK_LOOP_POLL)
		return;
	now = bpf_ktime_get_ns();
	if (t->fd < 0) {
		if (off__ends(t, task))
			return;
		loop_wait__learn_loop(t, task, now);
	}
	t->ready_cnt = ret;
	message__begin(t, events);
	thread__open(t, task, now);
}

/* The loop's own wait on fd begins, as far as this can be told by now. False: it is a handler's. */
static __always_inline bool loop_wait__begun(struct jank_thread *t, struct task_struct *task,
					     struct pt_regs *regs, u64 now, __u32 behind)
{
	s32 fd = compat__syscall_arg(regs, 0);

	if (t->loop == JANK_LOOP_POLL && !loop_wait__from_poll(t, task, compat__user_sp(regs)))
		return false;
	if (fd != t->fd) {
		if (!loop_wait__other(t, task, fd, compat__user_sp(regs), now))
			return false;
	} else {
		loop_wait__close_behind(t, task, now, behind);
		t->nested_cnt = 0;
		if (!(t->dispatch_cnt % SP_EVERY) && compat__user_sp(regs) > t->sp)
			t->sp = compat__user_sp(regs);
	}
	t->looper_entry = 0;
	t->phase = JANK_PHASE_WAITING;
	return true;
}

/*
 * Waits without a probe at their begin, which would cost as much again as the one at their end. A
 * wait that has to sleep begins when the thread leaves the CPU in it; one that finds its events
 * ready begins and ends when it returns. So a dispatch ends a microsecond late, with the call that
 * ends it.
 *
 * So: a wait returned whose begin was not probed. See poll__or_epoll_leaves for the other half.
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
		if (off__ends(t, task))
			return;
		loop_wait__learn_loop(t, task, now);
	}
	t->ready_cnt = ret;
	message__begin(t, compat__syscall_arg(regs, 1));
	thread__open(t, task, now);
}

#endif
