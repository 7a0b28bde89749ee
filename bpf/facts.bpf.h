/* SPDX-License-Identifier: GPL-2.0 */
/* Further facts about a slow dispatch: page faults, CPU quotas, the thread's priority. */
#ifndef JANK_FACTS_BPF_H
#define JANK_FACTS_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/record.bpf.h"

/*
 * Counts page faults from here on: when a dispatch leaves the CPU for the first time, or is first
 * found late. At the begin this would cost every dispatch.
 */
static __always_inline void facts__begin(struct jank_thread *t, struct task_struct *task)
{
	t->throttled_ns = 0;
	if (!bpf_core_field_exists(task->maj_flt))
		return;
	t->min_flt = KREAD(task, min_flt);
	t->maj_flt = KREAD(task, maj_flt);
}

static __always_inline __u16 facts__prio(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->prio))
		return 0;
	return KREAD(task, prio) + JANK_PRIO_OFFSET;
}

/* Sends the facts before the dispatch's block or hang. throttled_ns: of a wait that lasts. */
static __noinline int facts__send(struct jank_thread *t, struct task_struct *task, u64 stolen_ns,
				  u64 throttled_ns, u64 now)
{
	struct jank_rec_facts *rec = record__reserve(sizeof(*rec));

	if (!rec)
		return -1;
	__builtin_memset(rec, 0, sizeof(*rec));
	record__head(&rec->hdr, JANK_REC_FACTS, sizeof(*rec), now, task);
	rec->dispatch_ns = t->start_ns;
	rec->stolen_ns = stolen_ns;
	rec->prio = facts__prio(task);
	if (bpf_core_field_exists(task->policy))
		rec->policy = KREAD(task, policy);
	if (bpf_core_field_exists(task->nr_cpus_allowed))
		rec->cpus_allowed = KREAD(task, nr_cpus_allowed);
	rec->throttled_ns = throttled_ns;
	if (t->start_delay_ns)
		rec->throttled_ns += t->start_throttled_ns;
	if (t->handled.taken) {
		rec->throttled_ns += t->throttled_ns;
		if (bpf_core_field_exists(task->maj_flt)) {
			rec->min_flt_cnt = KREAD(task, min_flt) - t->min_flt;
			rec->maj_flt_cnt = KREAD(task, maj_flt) - t->maj_flt;
		}
	}
	record__comm(rec->comm, task);
	bpf_ringbuf_submit(rec, 0);
	return 0;
}

#endif
