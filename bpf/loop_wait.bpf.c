/* SPDX-License-Identifier: GPL-2.0 */
/* Probes of a loop's waits: tracepoints of system calls. */
#include "bpf/poll.bpf.h"
#include "bpf/preempt.bpf.h"

/* sp: see loop_wait__sp */
static __always_inline int loop_wait__on_enter(s32 fd, u64 sp)
{
	struct task_struct *task = KERNEL_CURRENT();

	if (!filter__maybe(task))
		return 0;
	preempt__disable();
	loop_wait__begin(task, fd, sp);
	preempt__enable();
	return 0;
}

static __always_inline int loop_wait__on_exit(long ret)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct pt_regs *regs;

	if (!filter__maybe(task))
		return 0;
	preempt__disable();
	regs = compat__user_regs(task);
	if (jank_conf.infer_begin)
		loop_wait__turn(task, regs, ret);
	else
		loop_wait__end(task, ret, compat__syscall_arg(regs, 0),
			       compat__syscall_arg(regs, 1));
	preempt__enable();
	return 0;
}

static __always_inline int poll__on_enter(void)
{
	struct task_struct *task = KERNEL_CURRENT();

	if (!filter__maybe(task))
		return 0;
	preempt__disable();
	poll__enter(task, compat__user_regs(task));
	preempt__enable();
	return 0;
}

/*
 * A loop's wait in poll returned, which a freeze had interrupted: restart_syscall continued it.
 */
static __noinline int poll__continued(struct task_struct *task, long ret)
{
	struct jank_thread *t = thread__get(task);

	if (!t || t->loop != JANK_LOOP_POLL || t->phase != JANK_PHASE_WAITING || t->start_ns)
		return 0;
	t->ready_cnt = ret;
	message__begin(t, 0);
	thread__open(t, task, bpf_ktime_get_ns());
	return 0;
}

static __always_inline int poll__on_exit(long ret)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_place at;
	struct pt_regs *regs;
	s32 nr;

	if (!filter__maybe(task))
		return 0;
	preempt__disable();
	regs = compat__user_regs(task);
	nr = compat__syscall_nr(regs);
	if (compat__continues(nr)) {
		poll__continued(task, ret);
	} else {
		at = poll__place(regs, nr, poll__class(nr));
		poll__turn(task, regs, &at, ret);
	}
	preempt__enable();
	return 0;
}

/*
 * Attached to the tracepoints of several system calls each (user/probes/loader_attach.c), so that
 * the verifier walks their code once.
 */
SEC("tp")
int jank_on_epoll(struct trace_event_raw_sys_enter *ctx)
{
	return loop_wait__on_enter(ctx->args[0], 0);
}

SEC("tp")
int jank_on_epoll_x(struct trace_event_raw_sys_exit *ctx)
{
	return loop_wait__on_exit(ctx->ret);
}

SEC("tp")
int jank_on_poll(struct trace_event_raw_sys_enter *ctx)
{
	return poll__on_enter();
}

SEC("tp")
int jank_on_poll_x(struct trace_event_raw_sys_exit *ctx)
{
	return poll__on_exit(ctx->ret);
}

/*
 * The same probes on the tracepoints of all system calls: for kernels without one for each call
 * (Android), and for 32-bit programs, which bypass those.
 */
TRACEPOINT("sys_enter")
int BPF_PROG(jank_on_sys_enter, struct pt_regs *regs, long id)
{
	s32 nr;

	if (jank_conf.compat_apart && !compat__is_32bit(regs))
		return 0;
	nr = compat__syscall_nr(regs);
	if (poll__class_waits(poll__class(nr)))
		return poll__on_enter();
	if (!loop_wait__is_epoll(nr))
		return 0;
	return loop_wait__on_enter(compat__syscall_arg(regs, 0), compat__user_sp(regs));
}

TRACEPOINT("sys_exit")
int BPF_PROG(jank_on_sys_exit, struct pt_regs *regs, long ret)
{
	s32 nr;

	if (jank_conf.compat_apart && !compat__is_32bit(regs))
		return 0;
	nr = compat__syscall_nr(regs);
	if (poll__class_waits(poll__class(nr)) || compat__continues(nr))
		return poll__on_exit(ret);
	if (!loop_wait__is_epoll(nr))
		return 0;
	return loop_wait__on_exit(ret);
}
