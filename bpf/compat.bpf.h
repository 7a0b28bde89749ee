/* SPDX-License-Identifier: GPL-2.0 */
/* One inline function per difference between kernels and architectures, with what made it. */
#ifndef JANK_COMPAT_BPF_H
#define JANK_COMPAT_BPF_H

#include "bpf/kernel.bpf.h"

/* include/linux/sched.h; the values are stable since 4.14 */
#define TASK_INTERRUPTIBLE   0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED_BIT     0x4
#define TASK_TRACED_BIT	     0x8
#define TASK_FROZEN_BIT	     0x8000 /* f5d39b020809 (6.1); never set before */

#define PF_KTHREAD 0x00200000

#define POLL_TIMEOUT_MAX 0xffffffffu /* what is larger is the address of ppoll's timespec */

/* The first function looks at its arguments there: argc, argv. */
#define COMPAT_ABOVE_START 64

/* arch/x86/include/asm/segment.h: __USER_CS */
#define USER_CS_64 0x33

/* The task's state had another name and type before 2f064a59a11f (5.14). */
struct task_struct___old_state {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline unsigned int compat__task_state(struct task_struct *task)
{
	struct task_struct___old_state *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return KREAD(task, __state);
	return BPF_CORE_READ(old, state);
}

/*
 * The state that prev leaves the CPU in. Its own field may be overwritten by a waker by now, so
 * sched_switch tells it from fa2c3254d7cf (5.18) on, as its fourth argument; before, programs that
 * read as far were refused.
 */
static __always_inline unsigned int compat__switch_state(const __u64 *switch_args,
							 struct task_struct *prev)
{
	if (jank_conf.switch_state)
		return switch_args[3];
	return compat__task_state(prev);
}

/*
 * Is this tracepoint running on the task's own stack, that is, not in an interrupt? The preemption
 * count would tell more, but its per-CPU symbol is out of reach where kallsyms has no data symbols.
 * *spill takes the context's address: read back, it is a number to the verifier.
 */
static __always_inline bool compat__on_task_stack(void *ctx, struct task_struct *current_task,
						  volatile u64 *spill)
{
	*spill = (u64)ctx;
	return *spill - (u64)KREAD(current_task, stack) < jank_conf.thread_sz;
}

/*
 * The user registers saved at entry to the kernel. bpf_task_pt_regs came with dd6e10fbd9fb (5.15);
 * what it does: they lie at the upper end of the task's stack (task_pt_regs in asm/processor.h), or
 * a padding below.
 */
static __always_inline struct pt_regs *compat__user_regs(struct task_struct *task)
{
#ifdef JANK_PLAIN
	return KREAD(task, stack) + jank_conf.thread_sz - bpf_core_type_size(struct pt_regs);
#else
	return (struct pt_regs *)bpf_task_pt_regs(task);
#endif
}

/* A register of the architecture's own name. */
#if defined(__TARGET_ARCH_x86)
#define USER_REG(regs, x86, arm64) KREAD(regs, x86)
#else
#define USER_REG(regs, x86, arm64) KREAD(regs, arm64)
#endif

/* PSR_MODE32_BIT, uapi/asm/ptrace.h of arm64 */
#define ARM64_MODE32 0x10

static __always_inline bool compat__is_32bit(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return KREAD(regs, cs) != USER_CS_64;
#else
	return KREAD(regs, user_regs.pstate) & ARM64_MODE32;
#endif
}

/*
 * The system call in progress, or -1: in an exception, or in user mode. 32-bit programs have
 * numbers of their own: JANK_SYSCALL_32 is added.
 */
static __always_inline int compat__syscall_nr(const struct pt_regs *regs)
{
	int nr = (int)USER_REG(regs, orig_ax, syscallno);

	return nr >= 0 && compat__is_32bit(regs) ? nr + JANK_SYSCALL_32 : nr;
}

/*
 * Is the system call still under way? On x86 the result's register holds -ENOSYS until it has
 * returned (arch/x86/entry/entry_64.S); afterwards, on the way out, a task can still be preempted.
 * Elsewhere it can't be told.
 */
static __always_inline bool compat__in_syscall(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (s64)KREAD(regs, ax) == -38;
#else
	return false;
#endif
}

/*
 * A system call's argument, one of the first five, by a constant index. asm/syscall.h; 32-bit
 * programs on x86-64 pass them in bx, cx …
 */
static __always_inline u64 compat__syscall_arg(const struct pt_regs *regs, int i)
{
#if defined(__TARGET_ARCH_x86)
	if (compat__is_32bit(regs))
		return i == 0	? KREAD(regs, bx)
		       : i == 1 ? KREAD(regs, cx)
		       : i == 2 ? KREAD(regs, dx)
		       : i == 3 ? KREAD(regs, si)
				: KREAD(regs, di);
	return i == 0	? KREAD(regs, di)
	       : i == 1 ? KREAD(regs, si)
	       : i == 2 ? KREAD(regs, dx)
	       : i == 3 ? KREAD(regs, r10)
			: KREAD(regs, r8);
#else
	return i == 0	? KREAD(regs, orig_x0)
	       : i == 1 ? KREAD(regs, user_regs.regs[1])
	       : i == 2 ? KREAD(regs, user_regs.regs[2])
	       : i == 3 ? KREAD(regs, user_regs.regs[3])
			: KREAD(regs, user_regs.regs[4]);
#endif
}

/* The user stack pointer: r13 of a 32-bit program on arm64. */
static __always_inline u64 compat__user_sp(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return KREAD(regs, sp);
#else
	return compat__is_32bit(regs) ? KREAD(regs, user_regs.regs[13]) : KREAD(regs, user_regs.sp);
#endif
}

/*
 * Where the user stack that sp is on ends at the latest, as far as can be told: a main thread's
 * frames lie below where its stack began (fs/exec.c), a thread's of glibc and musl below its
 * descriptor, which the thread pointer tells. ~0: not known. Types of before this was read lack it.
 */
static __always_inline u64 compat__stack_end(struct task_struct *task, u64 sp)
{
	struct mm_struct *mm = KREAD(task, mm);
	u64 begin = 0, tp = 0, end = ~0ull;

	if (bpf_core_field_exists(struct mm_struct, start_stack))
		begin = KREAD(mm, start_stack) + COMPAT_ABOVE_START;
	if (begin > sp)
		end = begin;
#if defined(__TARGET_ARCH_x86)
	if (bpf_core_field_exists(struct thread_struct, fsbase))
		tp = KREAD(task, thread.fsbase);
#else
	if (bpf_core_field_exists(struct thread_struct, uw.tp_value))
		tp = KREAD(task, thread.uw.tp_value);
#endif
	return tp > sp && tp < end ? tp : end;
}

static __always_inline u64 compat__user_ip(const struct pt_regs *regs)
{
	return USER_REG(regs, ip, user_regs.pc);
}

/*
 * Is struct epoll_event packed to 12 bytes? On x86-64, so that it is the 32-bit programs'
 * (EPOLL_PACKED).
 */
static __always_inline bool compat__epoll_packed(void)
{
#if defined(__TARGET_ARCH_x86)
	return true;
#else
	return false;
#endif
}

/*
 * A return address without its pointer authentication code, which fills the bits above the address
 * space.
 */
static __always_inline u64 compat__strip(u64 ip)
{
#if defined(__TARGET_ARCH_x86)
	return ip;
#else
	return ip & jank_conf.user_ip_mask;
#endif
}

/*
 * Where a walk by frame pointers starts, when two words make a frame: false for 32-bit programs,
 * which the kernel has to walk.
 */
static __always_inline bool compat__frame_chain(const struct pt_regs *regs, __u64 *ret_ip,
						__u64 *ret_fp)
{
	*ret_ip = USER_REG(regs, ip, user_regs.pc);
	*ret_fp = USER_REG(regs, bp, user_regs.regs[29]);
	return !compat__is_32bit(regs);
}

#endif
