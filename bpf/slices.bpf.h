/* SPDX-License-Identifier: GPL-2.0 */
/* Who ran on a CPU while others wanted it. */
#ifndef JANK_SLICES_BPF_H
#define JANK_SLICES_BPF_H

#include "bpf/facts.bpf.h"
#include "bpf/record.bpf.h"

static __always_inline struct jank_slices *slices__own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jank_slices, &zero);
}

/* The task that leaves this CPU, for those that wait for one. */
static __always_inline void slices__log(struct task_struct *task, u64 now)
{
	struct jank_slices *slices = slices__own();
	struct jank_slice *slice;

	if (!slices)
		return;
	slice = &slices->log[slices->head++ & (JANK_SLICE_LOG - 1)];
	slice->end_ns = now;
	slice->tgid = KREAD(task, tgid);
	slice->tid = KREAD(task, pid);
	slice->prio = facts__prio(task);
	record__comm(slice->comm, task);
}

/*
 * Appends to the span who ran on this CPU since from_ns, latest first. The count is kept in the record:
 * a local one would be another state for the verifier each time around (36,000 instructions, 120 ms).
 */
static __always_inline void slices__add(struct jank_stack_buf *span, u64 from_ns, __u32 own_tid)
{
	struct jank_slices *slices = slices__own();
	__u64 at = span->rec.kernel_cnt + span->rec.user_cnt;
	volatile __u16 *cnt = &span->rec.slice_cnt;
	struct jank_task *tasks;
	u64 end;

	barrier_var(at); /* the verifier must see the very value that was tested */
	if (!slices || at > JANK_KSTACK_MAX + JANK_USTACK_MAX)
		return;
	tasks = (struct jank_task *)&span->tail[at];
	for (__u32 i = 1; i <= JANK_SLICE_MAX; i++) {
		struct jank_slice *slice = &slices->log[(slices->head - i) & (JANK_SLICE_LOG - 1)];
		u64 before = slices->log[(slices->head - i - 1) & (JANK_SLICE_LOG - 1)].end_ns;
		u64 begin = before > from_ns ? before : from_ns;
		struct jank_task *out = &tasks[*cnt & (JANK_SLICE_MAX - 1)];

		if (slice->end_ns <= from_ns)
			break;
		if (!slice->tid || slice->tid == own_tid)
			continue;
		out->ns = slice->end_ns - begin;
		out->tgid = slice->tgid;
		out->tid = slice->tid;
		__builtin_memcpy(out->comm, slice->comm, sizeof(out->comm));
		slices->prios[*cnt & (JANK_SLICE_MAX - 1)] = slice->prio;
		++*cnt;
	}
	/* All of them, behind those that there are: the record's size says which count. */
	end = *cnt;
	barrier_var(end);
	if (end > JANK_SLICE_MAX)
		return;
	__builtin_memcpy(&tasks[end], slices->prios, sizeof(slices->prios));
	span->rec.hdr.flags |= JANK_STACK_PRIOS;
}

#endif
