/* SPDX-License-Identifier: GPL-2.0 */
/*
 * History of each CPU (--record): its switches, the wake-ups of watched threads and the sampler's
 * ticks in them, in a buffer that is overwritten. Each CPU writes its own part: switches and
 * wake-ups come with interrupts disabled, and a tick, which may be an NMI, gives way to them.
 */
#ifndef JANK_HISTORY_BPF_H
#define JANK_HISTORY_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/facts.bpf.h"
#include "bpf/record.bpf.h"

static __always_inline bool history__is_on(void)
{
	return jank_conf.history_cnt;
}

/* The place of this CPU's next entry; NULL: none. Sets the head, which is busy from here on. */
static __always_inline struct jank_history_entry *history__next(struct jank_history_head **ret)
{
	__u32 cnt = jank_conf.history_cnt, cpu = bpf_get_smp_processor_id(), at;
	struct jank_history_head *head = bpf_map_lookup_elem(&jank_hist_heads, &cpu);
	struct jank_history_entry *entry;

	if (!head || *(volatile __u32 *)&head->busy)
		return NULL;
	*(volatile __u32 *)&head->busy = 1;
	barrier(); /* an NMI before this changes cnt */
	at = cpu * cnt + (*(volatile __u64 *)&head->cnt & (cnt - 1));
	entry = bpf_map_lookup_elem(&jank_history, &at);
	if (!entry)
		*(volatile __u32 *)&head->busy = 0;
	*ret = head;
	return entry;
}

/* user space reads the count before and after the entries: see history_buffers.h */
static __always_inline void history__done(struct jank_history_head *head)
{
	barrier();
	*(volatile __u64 *)&head->cnt = *(volatile __u64 *)&head->cnt + 1;
	barrier();
	*(volatile __u32 *)&head->busy = 0;
}

/* Two loads where the kernel's types are known: a call of bpf_probe_read_kernel costs 15 ns. */
static __always_inline void history__comm(struct jank_history_entry *entry,
					  struct task_struct *task)
{
#ifdef JANK_PLAIN
	record__comm(entry->comm, task);
#else
	const __u64 *comm = (const __u64 *)task->comm;

	((__u64 *)entry->comm)[0] = comm[0];
	((__u64 *)entry->comm)[1] = comm[1];
#endif
}

static __always_inline void history__fill(struct jank_history_entry *entry,
					  struct task_struct *task, __u64 now)
{
	entry->t_ns = now;
	entry->tid = pids__tid(task);
	entry->tgid = pids__tgid(task);
	entry->prio = facts__prio(task);
	history__comm(entry, task);
}

/* Returns the time of the switch. */
static __always_inline __u64 history__switch(const __u64 *switch_args, struct task_struct *prev,
					     struct task_struct *next, bool preempted)
{
	struct jank_history_head *head;
	struct jank_history_entry *entry = history__next(&head);
	__u64 now = bpf_ktime_get_ns();

	if (!entry)
		return now;
	history__fill(entry, next, now);
	entry->other_tid = pids__tid(prev);
	entry->state = compat__switch_state(switch_args, prev);
	entry->kind = JANK_HISTORY_SWITCH | (preempted ? JANK_HISTORY_PREEMPTED : 0);
	history__done(head);
	return now;
}

/* is_open: the thread has a dispatch. ip: in user mode or in the kernel's upper half. */
static __always_inline void history__tick(struct task_struct *task, bool is_open, __u64 ip,
					  __u64 now)
{
	struct jank_history_head *head;
	struct jank_history_entry *entry = history__next(&head);

	if (!entry)
		return;
	history__fill(entry, task, now);
	entry->other_tid = 0;
	entry->state =
		(is_open ? JANK_HISTORY_DISPATCH : 0) | ((__s64)ip >= 0 ? JANK_HISTORY_USER : 0);
	entry->kind = JANK_HISTORY_TICK;
	history__done(head);
}

#endif
