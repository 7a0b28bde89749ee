/* SPDX-License-Identifier: GPL-2.0 */
/* The probes that see a loop's waits: system-call tracepoints, or uprobes on the target's libraries. */
#include "bpf/wait.bpf.h"

static __always_inline int wait__on_enter(s32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (filter__maybe(task->tgid))
		wait__begin(task, fd, 0);
	return 0;
}

static __always_inline int wait__on_exit(long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!filter__maybe(task->tgid))
		return 0;
	if (jank_conf.infer_begin)
		wait__turn(task, ret);
	else
		wait__end(task, ret);
	return 0;
}

/* Programs are known to the kernel by 15 characters, hence the short names. */
#define JANK_EPOLL_TRACEPOINTS(call, name)                                                         \
	SEC("tp/syscalls/sys_enter_" #call)                                                        \
	int jank_on_e_##name(struct trace_event_raw_sys_enter *ctx)                                \
	{                                                                                          \
		return wait__on_enter(ctx->args[0]);                                               \
	}                                                                                          \
	SEC("tp/syscalls/sys_exit_" #call)                                                         \
	int jank_on_x_##name(struct trace_event_raw_sys_exit *ctx)                                 \
	{                                                                                          \
		return wait__on_exit(ctx->ret);                                                    \
	}

JANK_EPOLL_TRACEPOINTS(epoll_wait, wait)
JANK_EPOLL_TRACEPOINTS(epoll_pwait, pwait)
JANK_EPOLL_TRACEPOINTS(epoll_pwait2, pwait2)

/* The same from the tracepoints of all system calls, for kernels without one for each (Android). */
SEC("tp_btf/sys_enter")
int BPF_PROG(jank_on_sys_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task;

	if (!wait__is_epoll(nr))
		return 0;
	task = bpf_get_current_task_btf();
	if (!filter__maybe(task->tgid))
		return 0;
	wait__begin(task, compat__syscall_arg0(regs), compat__user_sp(regs));
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(jank_on_sys_exit, struct pt_regs *regs, long ret)
{
	if (!wait__is_epoll(compat__syscall_nr(regs)))
		return 0;
	return wait__on_exit(ret);
}

/* Before and after the system call in libc's epoll_wait and its kin; user/kernel/targets.h chooses
 * where. Their attachment is by process. */
SEC("uprobe")
int jank_on_wait_begin(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	wait__begin(task, PT_REGS_PARM1(ctx), PT_REGS_SP(ctx));
	return 0;
}

SEC("uprobe")
int jank_on_wait_end(struct pt_regs *ctx)
{
	wait__end(bpf_get_current_task_btf(), PT_REGS_RC(ctx));
	return 0;
}

SEC("uprobe")
int jank_on_looper(struct pt_regs *ctx)
{
	wait__looper(bpf_get_current_task_btf(), PT_REGS_PARM1(ctx), PT_REGS_SP(ctx));
	return 0;
}
