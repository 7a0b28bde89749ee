/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels and architectures: one inline function each, with its origin. */
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

/* include/uapi/linux/bpf.h */
#define COMPAT_TASK_PT_REGS 175

#define POLL_TIMEOUT_MAX 0xffffffffu /* a larger value is the address of ppoll's timespec */

/* Space above the stack's start, where the first function reads its arguments: argc, argv. */
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
 * Is a thread that leaves the CPU in this state frozen with its cgroup? Version 2 has a bit since
 * 76f969e8948d (5.2), which threads that stop have as well; version 1 has the state since
 * f5d39b020809 (6.1).
 */
static __always_inline bool compat__is_frozen(struct task_struct *task, unsigned int task_state)
{
	if (task_state & (TASK_STOPPED_BIT | TASK_TRACED_BIT))
		return false;
	return task_state & TASK_FROZEN_BIT ||
	       (bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD_PROBED(task, frozen));
}

/*
 * Returns the state in which prev leaves the CPU. A waker may already have overwritten the task's
 * field. sched_switch has the state as its fourth argument from fa2c3254d7cf (5.18) on; earlier
 * kernels reject programs that read that argument.
 */
static __always_inline unsigned int compat__switch_state(const __u64 *switch_args,
							 struct task_struct *prev)
{
	if (jank_conf.switch_state)
		return switch_args[3];
	return compat__task_state(prev);
}

/*
 * Does this tracepoint run on the task's own stack, that is, not in an interrupt? The preemption
 * count would be more exact, but its per-CPU symbol is not available where kallsyms has no data
 * symbols. *spill takes the context's address: read back, it is a number to the verifier.
 */
static __always_inline bool compat__on_task_stack(void *ctx, struct task_struct *current_task,
						  volatile u64 *spill)
{
	*spill = (u64)ctx;
	return *spill - (u64)KREAD(current_task, stack) < jank_conf.thread_sz;
}

/*
 * Returns the user registers saved at kernel entry: they lie at the upper end of the task's stack
 * (task_pt_regs in asm/processor.h), or a padding below. bpf_task_pt_regs came with dd6e10fbd9fb
 * (5.15). A call of it costs 15 to 20 ns where returns are mitigated, so the loader puts a cast of
 * `at` in its place, of which the verifier makes a move, and the type into r2
 * (user/probes/kernel_calls.c). The jump is the mark. In functions that are not inline the call
 * stays.
 */
static __always_inline struct pt_regs *compat__user_regs(struct task_struct *task)
{
#if defined(JANK_PLAIN)
	return KREAD(task, stack) + jank_conf.thread_sz - bpf_core_type_size(struct pt_regs);
#elif defined(JANK_RARE)
	return (struct pt_regs *)bpf_task_pt_regs(task);
#else
	u64 at = (u64)task->stack + jank_conf.thread_sz - bpf_core_type_size(struct pt_regs);
	struct pt_regs *regs;

	asm("r1 = %[task]\n"
	    "r2 = 0\n"
	    "r3 = %[at]\n"
	    "goto +0\n"
	    "call %[get]\n"
	    "%[regs] = r0\n"
	    : [regs] "=r"(regs)
	    : [task] "r"(task), [at] "r"(at), [get] "i"(COMPAT_TASK_PT_REGS)
	    : "r0", "r1", "r2", "r3", "r4", "r5");
	return regs;
#endif
}

/* Reads a register by its name on the architecture. */
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
 * Returns the current system call, or -1 in an exception or in user mode. JANK_SYSCALL_32 is added
 * to the numbers of 32-bit programs.
 */
static __always_inline int compat__syscall_nr(const struct pt_regs *regs)
{
	int nr = (int)USER_REG(regs, orig_ax, syscallno);

	return nr >= 0 && compat__is_32bit(regs) ? nr + JANK_SYSCALL_32 : nr;
}

/* True for restart_syscall, which continues a call that a stop has interrupted. */
static __always_inline bool compat__continues(s32 nr)
{
	return nr >= 0 && (nr == jank_conf.restart_nr[0] || nr == jank_conf.restart_nr[1]);
}

/*
 * Is the system call still in progress? On x86 the result register holds -ENOSYS until the call
 * returns (arch/x86/entry/entry_64.S); a task can still be preempted on the way out. Other
 * architectures cannot tell.
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
 * Returns one of the first five arguments of a system call; i must be a constant. See
 * asm/syscall.h; 32-bit programs on x86-64 pass them in bx, cx …
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

/* All registers, numbered as in DWARF: to[JANK_REG_MAX]. */
#if defined(__TARGET_ARCH_x86)
static __always_inline void compat__all_regs(__u64 *to, const struct pt_regs *from)
{
	to[0] = KREAD(from, ax);
	to[1] = KREAD(from, dx);
	to[2] = KREAD(from, cx);
	to[3] = KREAD(from, bx);
	to[4] = KREAD(from, si);
	to[5] = KREAD(from, di);
	to[6] = KREAD(from, bp);
	to[7] = KREAD(from, sp);
	to[8] = KREAD(from, r8);
	to[9] = KREAD(from, r9);
	to[10] = KREAD(from, r10);
	to[11] = KREAD(from, r11);
	to[12] = KREAD(from, r12);
	to[13] = KREAD(from, r13);
	to[14] = KREAD(from, r14);
	to[15] = KREAD(from, r15);
	to[16] = KREAD(from, ip);
}
#else
static __always_inline void compat__all_regs(__u64 *to, const struct pt_regs *from)
{
	bpf_probe_read_kernel(to, 31 * sizeof(*to), &from->user_regs.regs);
	to[31] = compat__user_sp(from);
	to[32] = KREAD(from, user_regs.pc);
}
#endif

/*
 * Returns an upper bound of the user stack that contains sp; ~0: not known. A main thread's frames
 * lie below the start of its stack (fs/exec.c). A thread's frames in glibc and musl lie below its
 * descriptor, which the thread pointer gives. A minimised BTF made before these fields were used
 * lacks them.
 */
static __always_inline u64 compat__stack_end(struct task_struct *task, u64 sp)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	u64 begin = 0, tp = 0, end = ~0ull;

	if (bpf_core_field_exists(struct mm_struct, start_stack))
		begin = BPF_CORE_READ(mm, start_stack) + COMPAT_ABOVE_START;
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
 * Is struct epoll_event packed to 12 bytes? On x86-64 it is, to match the 32-bit layout
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
 * Removes the pointer authentication code from a return address; the code uses the bits above the
 * address space.
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
 * Returns in *ret_ip and *ret_fp the start of a frame-pointer walk with frames of two words.
 * Returns false for 32-bit programs, which the kernel must walk.
 */
static __always_inline bool compat__frame_chain(const struct pt_regs *regs, __u64 *ret_ip,
						__u64 *ret_fp)
{
	*ret_ip = USER_REG(regs, ip, user_regs.pc);
	*ret_fp = USER_REG(regs, bp, user_regs.regs[29]);
	return !compat__is_32bit(regs);
}

#endif
