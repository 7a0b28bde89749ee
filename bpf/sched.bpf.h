/* SPDX-License-Identifier: GPL-2.0 */
/* The time account: what a thread with an open dispatch does between the CPU and sleep. */
#ifndef JANK_SCHED_BPF_H
#define JANK_SCHED_BPF_H

#include "bpf/fd.bpf.h"
#include "bpf/park.bpf.h"
#include "bpf/poll.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/take.bpf.h"
#include "bpf/thread.bpf.h"

/* A wake-up seen while the thread was still on its way off the CPU may come this much before. */
#define EARLY_WAKE_NS 1000000

/* asm-generic/ioctl.h: _IOWR('b', 1, struct binder_write_read), 64-bit and 32-bit layout */
#define BINDER_WRITE_READ    0xc0306201
#define BINDER_WRITE_READ_32 0xc0186201

#define S_IFMT	 0170000
#define S_IFSOCK 0140000
#define S_IFIFO	 0010000

static __always_inline __u32 sched__plain_kind(unsigned int task_state)
{
	return task_state & TASK_UNINTERRUPTIBLE ? JANK_STATE_DISK : JANK_STATE_OTHER;
}

/* By the file behind the descriptor. Since 6.16 an eventfd's inode calls itself a regular file
 * (cfd86ef7e8e7), hence the look at the task's state: waits for storage aren't interruptible. */
static __noinline int sched__fd_kind(struct task_struct *task, s32 fd, unsigned int task_state)
{
	struct file *file;
	umode_t mode;

	if (fd__file(task, fd, &file))
		return sched__plain_kind(task_state);
	mode = BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT;
	if (mode == S_IFIFO)
		return JANK_STATE_PIPE;
	if (mode == S_IFSOCK)
		return JANK_STATE_SOCKET;
	return sched__plain_kind(task_state);
}

/*
 * What a thread that leaves the CPU to sleep waits for: JANK_STATE_*. *ret_nr: its system call or -1;
 * before, the one that a stop interrupted and restart_syscall goes on with, or -1.
 */
static __always_inline __u32 sched__blocked_kind(struct task_struct *task, unsigned int task_state,
						 s32 *ret_nr)
{
	struct pt_regs *regs = compat__user_regs(task);
	bool hard = task_state & TASK_UNINTERRUPTIBLE;
	s32 nr = compat__syscall_nr(regs);
	u64 arg1;

	if (nr >= 0 && (nr == jank_conf.restart_nr[0] || nr == jank_conf.restart_nr[1]) &&
	    *ret_nr >= 0)
		nr = *ret_nr;
	*ret_nr = nr;
	if (task_state & (TASK_STOPPED_BIT | TASK_TRACED_BIT | TASK_FROZEN_BIT))
		return JANK_STATE_STOPPED;
	if (nr < 0)
		return JANK_STATE_PAGE_FAULT; /* an exception; userfaultfd waits interruptibly */
	if (hard && BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		return JANK_STATE_DISK;
	switch (jank_conf.syscall_class[nr & (JANK_SYSCALL_MAX - 1)]) {
	case JANK_CLASS_FUTEX:
		return JANK_STATE_FUTEX;
	case JANK_CLASS_SLEEP:
		return JANK_STATE_SLEEP;
	case JANK_CLASS_POLL:
	case JANK_CLASS_POLL_FDS:
	case JANK_CLASS_SELECT:
	case JANK_CLASS_IO_URING:
		return JANK_STATE_POLL;
	case JANK_CLASS_SOCKET:
		return JANK_STATE_SOCKET;
	case JANK_CLASS_FD:
		return sched__fd_kind(task, compat__syscall_arg0(regs), task_state);
	case JANK_CLASS_FILE:
		return sched__plain_kind(task_state);
	case JANK_CLASS_IOCTL:
		arg1 = (u32)compat__syscall_arg1(regs);
		if (arg1 == BINDER_WRITE_READ || arg1 == BINDER_WRITE_READ_32)
			return JANK_STATE_BINDER;
		break;
	}
	return JANK_STATE_OTHER;
}

/*
 * The user stack of a thread that leaves the CPU, kept until it is known whether the span is long. Its
 * kernel stack will be the same when it comes back: only a span that is reported pays for that.
 */
static __always_inline void sched__take_stack(void *ctx, struct jank_thread *t,
					      struct task_struct *task)
{
	struct jank_stack_buf *span = &t->span;

	span->rec.user_cnt = stack__walk_user(ctx, task, &span->tail[JANK_KSTACK_MAX]);
	stack__take_kernel(ctx, span);
}

/* Does it sleep as a park does, in a process that may have some? */
static __always_inline bool sched__may_park(struct jank_thread *t, struct task_struct *task,
					    unsigned int task_state, __u32 state)
{
	return (state == JANK_STATE_FUTEX || state == JANK_STATE_SLEEP) &&
	       task_state & TASK_INTERRUPTIBLE && park__of_process(t, task);
}

/* The thread leaves the CPU with a dispatch open. */
static __always_inline void sched__leave(void *ctx, struct jank_thread *t, struct task_struct *task,
					 bool preempted, unsigned int task_state, u64 now)
{
	struct jank_rec_stack *rec = &t->span.rec;
	__u32 state = JANK_STATE_RUNNABLE;
	s32 nr = rec->dispatch_ns == t->start_ns ? rec->syscall : -1;

	if (jank_conf.infer_begin && poll__or_epoll_leaves(t, task, now))
		return;
	if (t->state != JANK_STATE_RUNNING)
		thread__arrive_late(t, task, now);
	thread__account(t, JANK_STATE_RUNNING, now);
	t->accounted = 1;
	if (!preempted && task_state & 0xffff)
		state = sched__blocked_kind(task, task_state, &nr);
	else
		nr = -1;
	rec->state = state;
	/* Read again: known, each kind would be a walk of its own to the verifier (50,000 instructions). */
	state = *(volatile __u32 *)&rec->state;
	if (sched__may_park(t, task, task_state, state) && park__leaves(t, task, state, now))
		return;
	if (!t->handled.taken)
		take__all(t, task);
	record__head(&rec->hdr, JANK_REC_STACK, 0, now, task);
	rec->dispatch_ns = t->start_ns;
	rec->t_ns = now;
	rec->ns = 0;
	rec->runnable_ns = 0;
	rec->syscall = nr;
	sched__take_stack(ctx, t, task);
	state = *(volatile __u32 *)&rec->state;
	if (state == JANK_STATE_RUNNABLE)
		thread__set_counted(t, 1);
	*(volatile __u32 *)&t->state = state; /* last: from here on a waker may change it */
}

/* Does the class of system calls send to sockets? */
static __always_inline bool sched__may_send(s32 nr)
{
	__u32 class = jank_conf.syscall_class[nr & (JANK_SYSCALL_MAX - 1)];

	return class == JANK_CLASS_SOCKET || class == JANK_CLASS_FD;
}

/*
 * Who ended the sleep. In an interrupt (a timer, a disk) the current task is a bystander: then it is
 * either off its own stack, or came from user mode and so is in no system call. But loopback traffic is
 * delivered in a softirq on top of the sender's own system call.
 */
static __always_inline void sched__note_waker(void *ctx, struct jank_thread *t, __u32 waiter_state)
{
	struct task_struct *waker = KERNEL_CURRENT();
	struct pt_regs *regs = compat__user_regs(waker);
	bool kthread = KREAD(waker, flags) & PF_KTHREAD;
	s32 nr = kthread ? -1 : compat__syscall_nr(regs);
	struct jank_rec_stack *rec = &t->span.rec;
	__u16 flags = JANK_STACK_WAKER;

	if (nr < 0 && !kthread)
		return;
	if (!compat__on_task_stack(ctx, waker, &t->spill)) {
		if (nr < 0 || !sched__may_send(nr) ||
		    (waiter_state != JANK_STATE_SOCKET && waiter_state != JANK_STATE_POLL))
			return;
		flags |= JANK_STACK_WAKER_SOFTIRQ;
	}
	rec->waker.ns = 0;
	rec->waker.tgid = KREAD(waker, tgid);
	rec->waker.tid = KREAD(waker, pid);
	record__comm(rec->waker.comm, waker);
	rec->hdr.flags |= flags;
}

/* Somebody ends the thread's sleep. It may not have left the CPU yet: see sched__arrive. */
static __always_inline void sched__wake(void *ctx, struct jank_thread *t, u64 now)
{
	__u32 state = t->state;

	if (state == JANK_STATE_RUNNING) {
		t->early_wake_ns = now;
		return;
	}
	if (state == JANK_STATE_RUNNABLE)
		return;
	thread__account(t, state, now);
	t->state = JANK_STATE_RUNNABLE;
	thread__set_counted(t, 1);
	sched__note_waker(ctx, t, state);
}

/* The state that the time since the last mark was spent in, for a thread that gets the CPU. */
static __always_inline __u32 sched__arrive_state(struct jank_thread *t)
{
	if (t->state == JANK_STATE_RUNNABLE)
		return JANK_STATE_RUNNABLE;
	/* No wake-up since it left: it came just before, while the thread was still on its way. */
	if (t->early_wake_ns + EARLY_WAKE_NS > t->span.rec.t_ns)
		return JANK_STATE_RUNNABLE;
	t->wakeup_missed_cnt++;
	t->evidence = 1;
	lost__add(JANK_LOST_WAKEUP);
	return t->state;
}

static __always_inline struct jank_slices *sched__slices(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jank_slices, &zero);
}

/* The task that leaves this CPU, for those that wait for one. */
static __always_inline void sched__log_slice(struct task_struct *task, u64 now)
{
	struct jank_slices *slices = sched__slices();
	struct jank_slice *slice;

	if (!slices)
		return;
	slice = &slices->log[slices->head++ & (JANK_SLICE_LOG - 1)];
	slice->end_ns = now;
	slice->tgid = KREAD(task, tgid);
	slice->tid = KREAD(task, pid);
	record__comm(slice->comm, task);
}

/*
 * Appends to the span who ran on this CPU since from_ns, latest first. The count is kept in the record:
 * a local one would be another state for the verifier each time around (36,000 instructions, 120 ms).
 */
static __always_inline void sched__add_slices(struct jank_stack_buf *span, u64 from_ns,
					      __u32 own_tid)
{
	struct jank_slices *slices = sched__slices();
	__u64 at = span->rec.kernel_cnt + span->rec.user_cnt;
	volatile __u16 *cnt = &span->rec.slice_cnt;
	struct jank_task *tasks;

	barrier_var(at); /* the verifier must see the very value that was tested */
	if (!slices || at > JANK_KSTACK_MAX + JANK_USTACK_MAX)
		return;
	tasks = (struct jank_task *)&span->tail[at];
	for (__u32 i = 1; i <= JANK_SLICE_MAX; i++) {
		struct jank_slice *slice = &slices->log[(slices->head - i) & (JANK_SLICE_LOG - 1)];
		u64 before = slices->log[(slices->head - i - 1) & (JANK_SLICE_LOG - 1)].end_ns;
		u64 begin = before > from_ns ? before : from_ns;
		struct jank_task *out = &tasks[*cnt & (JANK_SLICE_MAX - 1)];

		if (slice->end_ns <= from_ns)
			break;
		if (!slice->tid || slice->tid == own_tid)
			continue;
		out->ns = slice->end_ns - begin;
		out->tgid = slice->tgid;
		out->tid = slice->tid;
		__builtin_memcpy(out->comm, slice->comm, sizeof(out->comm));
		++*cnt;
	}
}

/* A span that was long enough goes out with its stack. runnable_from: when it was woken, or 0. */
static __noinline int sched__send_span(struct jank_thread *t, struct task_struct *task, u64 now,
				       u64 runnable_ns)
{
	struct jank_rec_stack *rec = &t->span.rec;

	rec->ns = now - rec->t_ns;
	rec->runnable_ns = runnable_ns;
	stack__complete(&t->span, task);
	if (runnable_ns >= jank_conf.span_min_ns)
		sched__add_slices(&t->span, now - runnable_ns, KREAD(task, pid));
	rec->hdr.size = stack__size(rec);
	t->evidence = 1;
	if (record__send_stack(&t->span, rec->hdr.size))
		t->shed_cnt++;
	else
		t->stack_cnt++;
	return 0;
}

/* The thread gets the CPU with a dispatch open. */
static __always_inline void sched__arrive(struct jank_thread *t, struct task_struct *task, u64 now)
{
	u64 runnable_ns;
	__u32 state;

	if (t->state == JANK_STATE_RUNNING)
		return; /* it left before we came */
	if (t->park_left_ns == t->span.rec.t_ns && park__was_one(t, task, now))
		return;
	state = sched__arrive_state(t);
	runnable_ns = state == JANK_STATE_RUNNABLE ? now - t->mark_ns : 0;
	thread__account(t, state, now);
	t->state = JANK_STATE_RUNNING;
	t->early_wake_ns = 0;
	thread__set_counted(t, 0);
	if (now - t->span.rec.t_ns >= jank_conf.span_min_ns)
		sched__send_span(t, task, now, runnable_ns);
}

#endif
