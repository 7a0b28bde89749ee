/* SPDX-License-Identifier: GPL-2.0 */
/* Tasks that ran on a CPU while other threads waited for it. */
#ifndef JANK_SLICES_BPF_H
#define JANK_SLICES_BPF_H

#include "bpf/facts.bpf.h"
#include "bpf/record.bpf.h"

static __always_inline struct jank_slices *slices__own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jank_slices, &zero);
}

/*
 * Returns the entry to which the task's slice is added: its newest one, if nothing was missed since
 * and it is recent enough; else NULL.
 */
static __always_inline struct jank_slice *slices__recent(struct jank_slices *slices, __u32 tid,
							 u64 now)
{
	__u32 at = slices->recent[tid & (JANK_SLICE_RECENT - 1)];
	struct jank_slice *slice = &slices->log[(at - 1) & (JANK_SLICE_LOG - 1)];

	if (!at || slices->head - at >= JANK_SLICE_LOG || slice->tid != tid ||
	    (s32)(at - slices->epoch_head) <= 0 || now - slice->begin_ns > JANK_SLICE_MERGE_NS)
		return NULL;
	return slice;
}

/* Logs that task tid leaves this CPU at now; process, name and priority are those of `task`. */
static __always_inline void slices__log_as(struct task_struct *task, __u32 tid, u64 now)
{
	struct jank_slices *slices = slices__own();
	struct jank_slice *slice;

	if (!slices)
		return;
	if (slices->epoch != jank_slice_epoch) {
		slices->epoch = jank_slice_epoch;
		slices->epoch_head = slices->head;
	}
	slice = slices__recent(slices, tid, now);
	if (slice) {
		slice->ns += now - slices->last_ns;
	} else {
		slice = &slices->log[slices->head++ & (JANK_SLICE_LOG - 1)];
		slices->recent[tid & (JANK_SLICE_RECENT - 1)] = slices->head;
		slice->begin_ns = slices->last_ns;
		slice->ns = now - slices->last_ns;
		slice->tgid = pids__tgid(task);
		slice->tid = tid;
		slice->prio = facts__prio(task);
		record__comm(slice->comm, task);
	}
	slice->end_ns = now;
	slices->last_ns = now;
}

/* Logs the task that leaves this CPU, for the threads that wait for a CPU. */
static __always_inline void slices__log(struct task_struct *task, u64 now)
{
	slices__log_as(task, pids__tid(task), now);
}

/*
 * Returns the part of an entry's time after from_ns, in ns. For an entry of several slices that
 * began before from_ns, the part is proportional to the length.
 */
static __always_inline u64 slices__since(const struct jank_slice *slice, u64 from_ns)
{
	u64 all = slice->end_ns - slice->begin_ns, part = slice->end_ns - from_ns;

	if (slice->begin_ns >= from_ns || !all)
		return slice->ns;
	if (slice->ns >= all)
		return part;
	return slice->ns * (part >> 10) / ((all >> 10) + 1);
}

/*
 * Returns the place of the task that ran least, if that is less than ns; else JANK_SLICE_MAX. A
 * global function, which the verifier checks separately.
 */
__noinline __weak __u32 slices__least(u64 ns)
{
	struct jank_slices *slices = slices__own();
	__u32 place = JANK_SLICE_MAX;

	if (!slices)
		return place;
	for (__u32 i = 0; i < JANK_SLICE_MAX; i++)
		if (slices->found[i].ns < ns) {
			ns = slices->found[i].ns;
			place = i;
		}
	return place;
}

/*
 * Returns the task's place among the found ones, or a new place. When the table is full, this is
 * the place of the task that ran least, if that is less than ns; else NULL.
 */
static __always_inline struct jank_task *slices__place(struct jank_slices *slices,
						       const struct jank_slice *slice, u64 ns)
{
	__u32 at = slice->tid & (JANK_SLICE_RECENT - 1), place = slices->met_at[at];
	struct jank_task *task = &slices->found[place & (JANK_SLICE_MAX - 1)];

	/*
	 * Of two tasks with the same last bits the first gets a second place: user space adds them
	 * up.
	 */
	if (slices->met_tid[at] == slice->tid && slices->met_query[at] == slices->query_cnt &&
	    task->tid == slice->tid)
		return task;
	place = slices->found_cnt;
	if (place < JANK_SLICE_MAX) {
		slices->found_cnt = place + 1;
		slices->found[place & (JANK_SLICE_MAX - 1)].ns = 0;
	} else {
		place = slices__least(ns);
		if (place >= JANK_SLICE_MAX)
			return NULL;
	}
	slices->met_tid[at] = slice->tid;
	slices->met_query[at] = slices->query_cnt;
	slices->met_at[at] = place;
	slices->prios[place & (JANK_SLICE_MAX - 1)] = slice->prio;
	task = &slices->found[place & (JANK_SLICE_MAX - 1)];
	slices->found_ns -= task->ns;
	task->ns = 0;
	task->tgid = slice->tgid;
	task->tid = slice->tid;
	__builtin_memcpy(task->comm, slice->comm, sizeof(task->comm));
	return task;
}

/*
 * Adds the time since from_ns of the nr-th latest entry. Not inlined: its paths join at its end;
 * inlined, the verifier would follow each of them through all later entries.
 */
static __noinline int slices__find(__u32 nr, u64 from_ns, __u32 own_tid)
{
	struct jank_slices *slices = slices__own();
	struct jank_slice *slice;
	struct jank_task *task;
	u64 ns;

	if (!slices)
		return 0;
	slice = &slices->log[(slices->head - nr) & (JANK_SLICE_LOG - 1)];
	if (slice->end_ns <= from_ns)
		return 0;
	ns = slices__since(slice, from_ns);
	/* else the CPU was idle, or the thread itself ran */
	if (slice->tid && slice->tid != own_tid) {
		task = slices__place(slices, slice, ns);
		if (!task)
			return 0;
		task->ns += ns;
	}
	slices->found_ns += ns;
	return 0;
}

/*
 * Finds the tasks that ran on this CPU since from_ns, each task once, and stores them in
 * slices->found. When the table is full, it keeps those that ran longest. A global function, which
 * the verifier walks once for all callers; hence no pointer arguments.
 */
__noinline __weak int slices__collect(u64 from_ns, __u32 own_tid)
{
	struct jank_slices *slices = slices__own();
	u64 waited_ns;

	if (!slices)
		return 0;
	slices->query_cnt++;
	slices->found_cnt = 0;
	slices->found_ns = 0;
	for (__u32 i = 1; i <= JANK_SLICE_LOG; i++)
		slices__find(i, from_ns, own_tid);
	/*
	 * Many short slices with a small sum are not reported as missing; time missing for another
	 * reason is.
	 */
	waited_ns = slices->last_ns - from_ns;
	slices->found_cut = slices->found_ns + waited_ns / 8 <= waited_ns;
	return 0;
}

/*
 * Appends the found tasks to the span, with as many priorities: the record's size shows how many
 * count.
 */
static __always_inline void slices__add(struct jank_stack_buf *span, u64 from_ns, __u32 own_tid)
{
	struct jank_slices *slices = slices__own();
	__u64 at = span->rec.kernel_cnt + span->rec.user_cnt, end;
	struct jank_task *tasks;

	barrier_var(at); /* the verifier must see the same value that was tested */
	if (!slices || at > JANK_KSTACK_MAX + JANK_USTACK_MAX)
		return;
	slices__collect(from_ns, own_tid);
	tasks = (struct jank_task *)&span->tail[at];
	bpf_probe_read_kernel(tasks, sizeof(slices->found), slices->found);
	end = slices->found_cnt;
	barrier_var(end);
	if (end > JANK_SLICE_MAX)
		return;
	span->rec.slice_cnt = end;
	__builtin_memcpy(&tasks[end], slices->prios, sizeof(slices->prios));
	span->rec.hdr.flags |= JANK_STACK_PRIOS;
	if (slices->found_cut)
		span->rec.hdr.flags |= JANK_STACK_CUT_SLICES;
}

#endif
