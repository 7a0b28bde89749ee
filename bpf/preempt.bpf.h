/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keeps a probe from being preempted half-way. Another program on the same thread's state
 * (sched_switch) would find it half-changed, and the kernel skips a program that another thread
 * has not finished on this CPU. The kernel prevents this itself at tracepoints before 7.0
 * (a46023d5616e), but not at uprobes from 6.0 on (8c7dcb84e3b7).
 *
 * Two jumps to the next instruction mark where a probe's work begins, three where it ends. The
 * loader (user/probes/kernel_calls.c) replaces the first of them by a call of bpf_preempt_disable
 * or bpf_preempt_enable (6.10). The verifier removes the others, and all where nothing was
 * replaced. A declared __ksym would refuse kernels without types of their own.
 */
#ifndef JANK_PREEMPT_BPF_H
#define JANK_PREEMPT_BPF_H

#include "bpf/conf.bpf.h"

#define PREEMPT_NEXT	 "goto +0\n"
#define PREEMPT_CLOBBERS "r0", "r1", "r2", "r3", "r4", "r5", "memory"

static __always_inline void preempt__disable(void)
{
	asm volatile(PREEMPT_NEXT PREEMPT_NEXT ::: PREEMPT_CLOBBERS);
}

static __always_inline void preempt__enable(void)
{
	asm volatile(PREEMPT_NEXT PREEMPT_NEXT PREEMPT_NEXT ::: PREEMPT_CLOBBERS);
}

#endif
