/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calibration object: runs once before the probes are loaded, in jankbpf's own context, where the
 * answers are known. It checks whether the kernel's types fit this kernel, and finds the size of a
 * kernel stack. It has its own skeleton, because its answers go into the probes' configuration.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/jank_abi.h"

struct jank_calibration jank_calibration = {};

/* THREAD_SIZE: 16 KiB, a page where that is larger, twice as much with KASAN */
#define THREAD_SZ_MIN (16 * 1024)
#define THREAD_SZ_CNT 4

/*
 * TOP_OF_KERNEL_STACK_PADDING: x86-64 with FRED has a gap above the registers (65c9cc9e2c14, 6.9)
 */
#define PADDING 16

/* Are this system call's registers at the upper end of a stack of that size? */
static __always_inline bool fits(void *stack, __u32 thread_sz)
{
	struct pt_regs *regs = stack + thread_sz - bpf_core_type_size(struct pt_regs);

#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, orig_ax) == jank_calibration.want_nr &&
	       BPF_CORE_READ(regs, di) == jank_calibration.want_arg0;
#else
	return (__u32)BPF_CORE_READ(regs, syscallno) == jank_calibration.want_nr &&
	       BPF_CORE_READ(regs, orig_x0) == jank_calibration.want_arg0;
#endif
}

static __always_inline struct upid *innermost(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid);
}

static __always_inline void find_pids(struct task_struct *task)
{
	jank_calibration.tgid = BPF_CORE_READ(task, tgid);
	jank_calibration.tid = BPF_CORE_READ(task, pid);
	if (!bpf_core_field_exists(task->thread_pid))
		return; /* before 4.19, or the types at hand lack it */
	jank_calibration.pid_level = BPF_CORE_READ(task, thread_pid, level);
	if (!jank_calibration.pid_level)
		return;
	jank_calibration.pid_ns = (__u64)BPF_CORE_READ(innermost(task), ns);
	jank_calibration.tid = BPF_CORE_READ(innermost(task), nr);
	task = BPF_CORE_READ(task, group_leader);
	jank_calibration.tgid = BPF_CORE_READ(innermost(task), nr);
}

SEC("raw_tp/sys_enter")
int jank_calibrate(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	void *stack = BPF_CORE_READ(task, stack);

	find_pids(task);
	jank_calibration.exec_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	jank_calibration.prio = BPF_CORE_READ(task, prio);
	jank_calibration.sched_class = (__u64)BPF_CORE_READ(task, sched_class);
#pragma unroll
	for (int i = THREAD_SZ_CNT - 1; i >= 0; i--) {
		__u32 thread_sz = THREAD_SZ_MIN << i;

		if (fits(stack, thread_sz))
			jank_calibration.thread_sz = thread_sz;
		else if (fits(stack, thread_sz - PADDING))
			jank_calibration.thread_sz = thread_sz - PADDING;
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
