/* SPDX-License-Identifier: GPL-2.0 */
/* One inline function per difference between kernels and architectures, with what made it. */
#ifndef JANK_COMPAT_BPF_H
#define JANK_COMPAT_BPF_H

#include "bpf/conf.bpf.h"

/* include/linux/sched.h; the values are stable since 4.14 */
#define TASK_INTERRUPTIBLE   0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED_BIT     0x4
#define TASK_TRACED_BIT	     0x8
#define TASK_FROZEN_BIT	     0x8000 /* f5d39b020809 (6.1); never set before */

#define PF_KTHREAD 0x00200000

/* arch/x86/include/asm/segment.h: __USER_CS */
#define USER_CS_64 0x33

/* THREAD_SIZE of x86-64 and arm64 without KASAN; kernel stacks have guard pages on both sides */
#define THREAD_STACK_SZ (16 * 1024)

/*
 * Is this tracepoint running on the task's own stack, that is, not in an interrupt? The preemption
 * count would tell more, but its per-CPU symbol is out of reach where kallsyms has no data symbols. *spill
 * takes the context's address: read back, it is a number to the verifier.
 */
static __always_inline bool compat__on_task_stack(void *ctx, struct task_struct *current_task,
						  volatile u64 *spill)
{
	*spill = (u64)ctx;
	return *spill - (u64)current_task->stack < THREAD_STACK_SZ;
}

/* The user registers saved at entry to the kernel; NULL without bpf_task_pt_regs (5.15). */
static __always_inline struct pt_regs *compat__user_regs(struct task_struct *task)
{
	if (!jank_conf.task_pt_regs)
		return NULL;
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

/* The system call in progress, or -1: in an exception, or in user mode. */
static __always_inline int compat__syscall_nr(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (int)regs->orig_ax;
#else
	return regs->syscallno;
#endif
}

/*
 * Is the system call still under way? On x86 the result's register holds -ENOSYS until it has returned
 * (arch/x86/entry/entry_64.S); afterwards, on the way out, a task can still be preempted. Elsewhere it
 * can't be told.
 */
static __always_inline bool compat__in_syscall(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (s64)regs->ax == -38;
#else
	return false;
#endif
}

static __always_inline u64 compat__syscall_arg0(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->di;
#else
	return regs->orig_x0;
#endif
}

static __always_inline u64 compat__syscall_arg1(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->si;
#else
	return regs->user_regs.regs[1];
#endif
}

static __always_inline u64 compat__user_sp(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->sp;
#else
	return regs->user_regs.sp;
#endif
}

/*
 * Where a walk by frame pointers starts, when two words make a frame. False for 32-bit programs, and on
 * arm64, where return addresses may be signed: there the kernel has to walk.
 */
static __always_inline bool compat__frame_chain(const struct pt_regs *regs, __u64 *ret_ip,
						__u64 *ret_fp)
{
#if defined(__TARGET_ARCH_x86)
	*ret_ip = regs->ip;
	*ret_fp = regs->bp;
	return regs->cs == USER_CS_64;
#else
	return false;
#endif
}

#endif
