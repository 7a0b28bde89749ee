/* SPDX-License-Identifier: GPL-2.0 */
/* A span off the CPU of a task that may not be the current one. */
#ifndef JANK_SPAN_BPF_H
#define JANK_SPAN_BPF_H

#include "bpf/facts.bpf.h"
#include "bpf/stack.bpf.h"

/* As stack__begin, with what the task is off the CPU for. */
static __always_inline void span__begin(struct jank_rec_stack *rec, __u16 kind,
					struct task_struct *task, u64 dispatch_ns, __u32 state,
					s32 nr, u64 t_ns, u64 now)
{
	stack__begin(rec, kind, task, dispatch_ns, t_ns, now);
	if (state == JANK_STATE_STOPPED && compat__is_frozen(task, compat__task_state(task)))
		rec->hdr.flags |= JANK_STACK_FROZEN;
	rec->state = state;
	rec->syscall = nr;
	rec->prio = facts__prio(task);
}

/* Of a task that is not the current one, only the place where it entered the kernel is known. */
static __always_inline void span__take_place(struct jank_stack_buf *buf, struct task_struct *task)
{
	buf->rec.user_cnt = 1;
	buf->rec.kernel_cnt = 0;
	buf->tail[JANK_KSTACK_MAX] = compat__user_ip(compat__user_regs(task));
}

#endif
