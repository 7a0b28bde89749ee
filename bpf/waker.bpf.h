/* SPDX-License-Identifier: GPL-2.0 */
/* The task that ends a sleep. */
#ifndef JANK_WAKER_BPF_H
#define JANK_WAKER_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/fd.bpf.h"
#include "bpf/record.bpf.h"

/* Is the descriptor a socket? */
static __noinline int waker__is_socket(struct task_struct *task, s32 fd)
{
	struct file *file;

	if (fd < 0 || fd__file(task, fd, &file) || !file)
		return false;
	return (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == S_IFSOCK;
}

/* May the waker's system call send to a socket? A write to a file does not. */
static __always_inline bool waker__may_send(struct task_struct *waker, struct pt_regs *regs, s32 nr)
{
	__u32 class = jank_conf.syscall_class[nr & (JANK_SYSCALL_MAX - 1)];

	return class == JANK_CLASS_SOCKET || class == JANK_CLASS_RECV ||
	       ((class == JANK_CLASS_FD || class == JANK_CLASS_SENDFILE) &&
		waker__is_socket(waker, compat__syscall_arg(regs, 0)));
}

/*
 * Records the task that ended the sleep. In an interrupt (timer, disk) the current task is
 * unrelated: it is off its own stack, or came from user mode and is in no system call. Exception:
 * loopback traffic is delivered in a softirq on top of the sender's own system call.
 */
static __always_inline void waker__record(void *ctx, struct jank_rec_stack *rec,
					  volatile u64 *spill, __u32 waiter_state)
{
	struct task_struct *waker = KERNEL_CURRENT();
	struct pt_regs *regs = compat__user_regs(waker);
	bool kthread = KREAD(waker, flags) & PF_KTHREAD;
	s32 nr = kthread ? -1 : compat__syscall_nr(regs);
	__u16 flags = JANK_STACK_WAKER;

	if (nr < 0 && !kthread)
		return;
	if (!compat__on_task_stack(ctx, waker, spill)) {
		if (nr < 0 || !waker__may_send(waker, regs, nr) ||
		    (waiter_state != JANK_STATE_SOCKET && waiter_state != JANK_STATE_POLL))
			return;
		flags |= JANK_STACK_WAKER_SOFTIRQ;
	}
	rec->waker.ns = 0;
	rec->waker.tgid = pids__tgid(waker);
	rec->waker.tid = pids__tid(waker);
	record__comm(rec->waker.comm, waker);
	rec->hdr.flags |= flags;
}

#endif
