/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers of threads and processes in jankbpf's own pid namespace. In the machine's they are fields
 * of the task, and the verifier removes the rest. A task that is not in the namespace has the
 * machine's number plus JANK_PID_OUTSIDE.
 */
#ifndef JANK_PIDS_BPF_H
#define JANK_PIDS_BPF_H

#include "bpf/kernel.bpf.h"

/* 0: not in the namespace. */
static __always_inline __u32 pids__inside(struct pid *pid)
{
	__u32 level = jank_conf.pid_level;
	struct upid *upid;

	/* numbers[] has level + 1 entries; an exited task has no struct pid */
	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	upid = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       level * bpf_core_type_size(struct upid);
	return (u64)BPF_CORE_READ(upid, ns) == jank_conf.pid_ns ? BPF_CORE_READ(upid, nr) : 0;
}

/* Not inline, for the size. One call: frames of nested ones share 512 bytes (5.10 refused two). */
static __noinline __u32 pids__tid_here(struct task_struct *task)
{
	__u32 of_machine = KREAD(task, pid), inside;

	if (!of_machine)
		return 0;
	inside = pids__inside(BPF_CORE_READ(task, thread_pid));
	return inside ?: of_machine + JANK_PID_OUTSIDE;
}

/* 0: the idle task. */
static __always_inline __u32 pids__tid(struct task_struct *task)
{
	return jank_conf.pid_level ? pids__tid_here(task) : (__u32)KREAD(task, pid);
}

static __always_inline __u32 pids__tgid(struct task_struct *task)
{
	return jank_conf.pid_level ? pids__tid_here(KREAD(task, group_leader))
				   : (__u32)KREAD(task, tgid);
}

#endif
