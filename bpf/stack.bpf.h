/* SPDX-License-Identifier: GPL-2.0 */
/* Stacks as addresses, written into a record's tail: kernel part, then user part. */
#ifndef JANK_STACK_BPF_H
#define JANK_STACK_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/record.bpf.h"

static __always_inline __u32 stack__cnt(long bytes, __u32 max)
{
	__u32 cnt = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;

	return cnt > max ? max : cnt;
}

/* The kernel's own walk of the current task's user stack. Returns the number of addresses. */
static __always_inline __u32 stack__kernel_walk(void *ctx, struct task_struct *task, __u64 *addrs)
{
	const __u32 sz = JANK_USTACK_MAX * sizeof(__u64);
#ifdef JANK_PLAIN
	long got = bpf_get_stack(ctx, addrs, sz, BPF_F_USER_STACK);
#else
	long got = bpf_get_task_stack(task, addrs, sz, BPF_F_USER_STACK);
#endif

	return stack__cnt(got, JANK_USTACK_MAX);
}

/*
 * A larger distance means that the register is no frame pointer: the code was built without them.
 */
#define STACK_REACH (16 << 20)

struct stack_addrs {
	__u64 at[JANK_USTACK_MAX];
};

/*
 * Walks the current task's user stack by frame pointers. Returns the number of addresses, at most
 * `max`; 0: it has none. The kernel's own walk follows any register value, and the page fault that
 * ends it costs a microsecond at each switch; this walk checks first.
 */
WALKED_ONCE_BY_POINTER __u32 stack__follow(struct stack_addrs *addrs, __u32 max)
{
	struct pt_regs *regs = compat__user_regs(KERNEL_CURRENT());
	struct {
		__u64 fp, ret;
	} frame;
	__u64 low = 0; /* a caller's frame must be higher, else the chain could be a cycle */
	__u64 sp = compat__user_sp(regs);
	__u32 cnt;

	if (!addrs || !compat__frame_chain(regs, &addrs->at[0], &frame.fp))
		return 0;
	for (cnt = 1; cnt < JANK_USTACK_MAX && cnt < max; cnt++) {
		if (frame.fp < low || frame.fp - sp > STACK_REACH)
			break;
		low = frame.fp + sizeof(frame);
		if (bpf_probe_read_user(&frame, sizeof(frame), (void *)frame.fp))
			break;
		addrs->at[cnt] = compat__strip(frame.ret);
	}
	return cnt;
}

/* The same where the kernel walks what has no frame pointers. max: at most JANK_USTACK_MAX. */
static __always_inline __u32 stack__walk_user(void *ctx, struct task_struct *task, __u64 *addrs,
					      __u32 max)
{
	__u32 cnt = stack__follow((struct stack_addrs *)addrs, max);

	return cnt ? cnt : stack__kernel_walk(ctx, task, addrs);
}

/*
 * Begins a record of a stack at t_ns: what follows has taken no time yet. dispatch_ns: begin of its
 * dispatch; 0: it is of another thread.
 */
static __always_inline void stack__begin(struct jank_rec_stack *rec, __u16 kind,
					 struct task_struct *task, u64 dispatch_ns, u64 t_ns,
					 u64 now)
{
	record__head(&rec->hdr, kind, 0, now, task);
	rec->dispatch_ns = dispatch_ns;
	rec->t_ns = t_ns;
	rec->ns = 0;
	rec->runnable_ns = 0;
}

/* Records the sizes: kernel_cnt is already clamped; user_sz is in bytes, or -errno. */
static __always_inline void stack__record(struct jank_rec_stack *rec, __u32 kernel_cnt,
					  long user_sz)
{
	rec->kernel_cnt = kernel_cnt;
	rec->user_cnt = stack__cnt(user_sz, JANK_USTACK_MAX);
	rec->slice_cnt = 0;
	rec->prio = 0;
	if (rec->kernel_cnt == JANK_KSTACK_MAX)
		rec->hdr.flags |= JANK_STACK_CUT_KERNEL;
	if (rec->user_cnt == JANK_USTACK_MAX)
		rec->hdr.flags |= JANK_STACK_CUT_USER;
	if (!rec->user_cnt)
		rec->hdr.flags |= JANK_STACK_NO_USER;
	if (!rec->kernel_cnt && !rec->user_cnt)
		lost__add(JANK_LOST_NO_STACK);
}

/*
 * Takes the kernel stack of the current task, which is about to leave the CPU. The plain object
 * needs it now: for a task off the CPU only bpf_get_task_stack works, which needs a typed task
 * (fa28dcb82a38, 5.9).
 */
static __always_inline void stack__take_kernel(void *ctx, struct jank_stack_buf *buf)
{
#ifdef JANK_PLAIN
	buf->rec.kernel_cnt = stack__cnt(
		bpf_get_stack(ctx, buf->tail, JANK_KSTACK_MAX * sizeof(__u64), 0), JANK_KSTACK_MAX);
#endif
}

/* wanted: is it worth a walk, if it was not taken before? */
static __always_inline __u32 stack__kernel_cnt(struct jank_stack_buf *buf, struct task_struct *task,
					       bool wanted)
{
#ifdef JANK_PLAIN
	__u32 cnt = buf->rec.kernel_cnt;

	return cnt > JANK_KSTACK_MAX ? JANK_KSTACK_MAX : cnt;
#else
	if (!wanted)
		return 0;
	return stack__cnt(bpf_get_task_stack(task, buf->tail, JANK_KSTACK_MAX * sizeof(__u64), 0),
			  JANK_KSTACK_MAX);
#endif
}

/*
 * Adds the kernel stack of a task that is off the CPU before its user stack, which lies after the
 * space for the longest kernel stack. bpf_probe_read_kernel copies upwards, so the two areas may
 * overlap.
 */
static __always_inline void stack__complete(struct jank_stack_buf *buf, struct task_struct *task,
					    bool with_kernel)
{
	__u32 kernel_cnt = stack__kernel_cnt(buf, task, with_kernel);
	__u32 user_sz = (buf->rec.user_cnt & JANK_USTACK_MAX) * sizeof(__u64);

	bpf_probe_read_kernel(&buf->tail[kernel_cnt], user_sz, &buf->tail[JANK_KSTACK_MAX]);
	stack__record(&buf->rec, kernel_cnt, user_sz);
}

static __always_inline __u32 stack__prios_size(__u32 slice_cnt)
{
	return (slice_cnt * sizeof(__u16) + 7) & ~7u;
}

static __always_inline __u32 stack__size(const struct jank_rec_stack *rec)
{
	return sizeof(*rec) + (rec->kernel_cnt + rec->user_cnt) * sizeof(__u64) +
	       rec->slice_cnt * sizeof(struct jank_task) +
	       (rec->hdr.flags & JANK_STACK_PRIOS ? stack__prios_size(rec->slice_cnt) : 0);
}

#endif
