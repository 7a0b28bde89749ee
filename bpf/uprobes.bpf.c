/* SPDX-License-Identifier: GPL-2.0 */
/* Probes in the programs themselves: marks, and waits that no tracepoint sees. */
#define JANK_UPROBES
#include "bpf/looper.bpf.h"
#include "bpf/message.bpf.h"
#include "bpf/preempt.bpf.h"

/*
 * Does the function that marked the open message still run? Then this mark is nested in it (Qt's
 * sendEvent in a handler). On x86 the return address stays at the stack pointer until the function
 * returns. Elsewhere this cannot be checked: a mark deeper in the stack counts as nested.
 */
static __always_inline bool mark__is_nested(const struct jank_handled *handled, u64 sp)
{
	if (!handled->mark || sp >= handled->mark_sp)
		return false;
#if defined(__TARGET_ARCH_x86)
	u64 ret = 0;

	bpf_probe_read_user(&ret, sizeof(ret), (void *)handled->mark_sp);
	return ret == handled->mark_ret;
#else
	return true;
#endif
}

static __always_inline void mark__keep(struct jank_handled *handled, struct pt_regs *ctx, u32 mark)
{
	handled->mark_sp = PT_REGS_SP(ctx);
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_user(&handled->mark_ret, sizeof(handled->mark_ret),
			    (void *)handled->mark_sp);
#endif
	handled->args[0] = PT_REGS_PARM1(ctx);
	handled->args[1] = PT_REGS_PARM2(ctx);
	handled->args[2] = PT_REGS_PARM3(ctx);
	handled->args[3] = PT_REGS_PARM4(ctx);
	handled->args[4] = PT_REGS_PARM5(ctx);
	handled->mark = mark;
	handled->nested_cnt = 0;
	handled->taken = 0;
}

/* The clock is read once in so many marks, a power of two. */
#define PACE_CNT 64
/* The rate is that of so long a time: a burst is not busy. */
#define PACE_NS	   40000000
#define PACE_SHIFT 16
/* Marks in a busy dispatch: redis meets three for a request. */
#define PACE_MARKS 3

/* Tells user space when the thread meets marks at more than the busy rate. */
static __noinline int mark__pace(struct jank_handled *handled, struct task_struct *task)
{
	u64 now = bpf_ktime_get_ns();
	u64 ns = (u64)((__u32)(now >> PACE_SHIFT) - handled->met_since) << PACE_SHIFT;
	struct jank_rec_marks rec = { .cnt = handled->met_cnt, .ms = ns / 1000000 };

	if (ns < PACE_NS)
		return 0;
	handled->met_cnt = 0;
	handled->met_since = now >> PACE_SHIFT;
	if ((u64)rec.cnt * 1000 < (u64)rec.ms * jank_conf.marks_hz * PACE_MARKS)
		return 0;
	record__head(&rec.hdr, JANK_REC_MARKS, sizeof(rec), now, task);
	return record__send(&rec, sizeof(rec));
}

/* The handling of a message begins. The first mark of a dispatch includes the time before it. */
static __always_inline void mark__begin(struct jank_thread *t, struct task_struct *task,
					struct pt_regs *ctx)
{
	u64 now;

	if (jank_conf.marks_hz && !(++t->handled.met_cnt & (PACE_CNT - 1)))
		mark__pace(&t->handled, task);
	if (startup__is(t))
		return;
	if (!t->start_ns) {
		if (t->loop != JANK_LOOP_CUSTOM)
			return;
		/* No other probe sees the end of the wait. */
		message__begin(t, 0);
		thread__open(t, task, bpf_ktime_get_ns());
	} else if (mark__is_nested(&t->handled, PT_REGS_SP(ctx))) {
		t->handled.nested_cnt++;
		return;
	} else if (t->handled.mark) {
		now = bpf_ktime_get_ns();
		thread__close(t, task, now, JANK_END_MARK);
		thread__open(t, task, now);
	}
	mark__keep(&t->handled, ctx, bpf_get_attach_cookie(ctx) + 1);
}

/*
 * An entry probe on functions that handle a message. One program serves all rows of the catalogue
 * and tells them apart by the attach cookie.
 */
SEC("uprobe")
int jank_on_mark(struct pt_regs *ctx)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t = thread__get(task);

	if (!t)
		return 0;
	preempt__disable();
	mark__begin(t, task, ctx);
	preempt__enable();
	return 0;
}

/* Entry of the function that a loop file names as the wait: the open dispatch ends. */
static __always_inline void mark__end(struct task_struct *task)
{
	struct jank_thread *t = loop_wait__thread(task, JANK_LOOP_CUSTOM);
	u64 now;

	if (!t)
		return;
	now = bpf_ktime_get_ns();
	if (t->loop != JANK_LOOP_CUSTOM) {
		thread__end_trial(t);
		if (startup__is(t))
			startup__end(t, now);
		thread__forget_dispatch(t);
		t->loop = JANK_LOOP_CUSTOM;
		loop_wait__announce(now);
	} else if (t->start_ns) {
		thread__close(t, task, now, JANK_END_WAIT);
	}
	t->phase = JANK_PHASE_WAITING;
}

SEC("uprobe")
int jank_on_custom(struct pt_regs *ctx)
{
	preempt__disable();
	mark__end(KERNEL_CURRENT());
	preempt__enable();
	return 0;
}

/*
 * Before and after the system call in libc's epoll_wait, epoll_pwait and epoll_pwait2;
 * user/uprobes/targets.h chooses the places. Attached by process.
 */
SEC("uprobe")
int jank_on_wait_begin(struct pt_regs *ctx)
{
	preempt__disable();
	loop_wait__begin(KERNEL_CURRENT(), PT_REGS_PARM1(ctx), PT_REGS_SP(ctx));
	preempt__enable();
	return 0;
}

SEC("uprobe")
int jank_on_wait_end(struct pt_regs *ctx)
{
	preempt__disable();
	loop_wait__end(KERNEL_CURRENT(), PT_REGS_RC(ctx), -1, 0);
	preempt__enable();
	return 0;
}

SEC("uprobe")
int jank_on_looper(struct pt_regs *ctx)
{
	preempt__disable();
	looper__enter(KERNEL_CURRENT(), PT_REGS_PARM1(ctx), PT_REGS_SP(ctx));
	preempt__enable();
	return 0;
}
