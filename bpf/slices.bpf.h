/* SPDX-License-Identifier: GPL-2.0 */
/* Tasks that ran on a CPU while other threads waited for it. */
#ifndef JANK_SLICES_BPF_H
#define JANK_SLICES_BPF_H

#include "bpf/facts.bpf.h"
#include "bpf/queue_clock.bpf.h"
#include "bpf/record.bpf.h"

static __always_inline struct jank_slices *slices__own(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jank_slices, &zero);
}

/*
 * Returns the entry to which the task's slice is added: its newest one, if it is recent enough;
 * else NULL.
 */
static __always_inline struct jank_slice *slices__recent(struct jank_slices *slices, __u32 tid,
							 u64 now)
{
	__u32 at = slices->recent[tid & (JANK_SLICE_RECENT - 1)];
	struct jank_slice *slice = &slices->log[(at - 1) & (JANK_SLICE_LOG - 1)];

	if (!at || slices->head - at >= JANK_SLICE_LOG || slice->tid != tid ||
	    now - slice->begin_ns > JANK_SLICE_MERGE_NS)
		return NULL;
	return slice;
}

/*
 * Logs that task tid ran on this CPU for ns of the time between begin_ns and now; process, name and
 * priority are those of `task`.
 */
static __always_inline void slices__log(struct jank_slices *slices, struct task_struct *task,
					__u32 tid, u64 begin_ns, u64 ns, u64 now)
{
	struct jank_slice *slice = slices__recent(slices, tid, now);

	if (slice) {
		slice->ns += ns;
	} else {
		slice = &slices->log[slices->head++ & (JANK_SLICE_LOG - 1)];
		slices->recent[tid & (JANK_SLICE_RECENT - 1)] = slices->head;
		slice->begin_ns = begin_ns;
		slice->ns = ns;
		slice->tgid = pids__tgid(task);
		slice->tid = tid;
		slice->prio = facts__prio(task);
		record__comm(slice->comm, task);
	}
	slice->end_ns = now;
}

/*
 * Task tid leaves this CPU at now, after ns. Of short slices one in some 2 JANK_SLICE_MIN_NS of
 * their time is logged, with the time since the last one. The distance varies: with a constant one,
 * of two tasks that alternate always the same could be met.
 */
static __always_inline void slices__add(struct jank_slices *slices, struct task_struct *task,
					__u32 tid, u64 ns, u64 now)
{
	u64 begin_ns = now - ns;

	if (ns < JANK_SLICE_MIN_NS) {
		begin_ns = slices->short_begin_ns;
		ns = slices->short_ns;
		slices->short_ns = 0;
		slices->short_begin_ns = now;
		slices->short_limit_ns =
			JANK_SLICE_MIN_NS + bpf_get_prandom_u32() % JANK_SLICE_MIN_NS;
	}
	slices__log(slices, task, tid, begin_ns, ns, now);
}

/* Adds a short slice to their sum. Returns true if the sum is due. */
static __always_inline bool slices__sum(struct jank_slices *slices, u64 ns)
{
	slices->short_ns += ns;
	return slices->short_ns >= slices->short_limit_ns;
}

/* The task leaves this CPU at now (0: it is read) after ns. */
static __noinline int slices__leave(struct task_struct *task, u64 ns, u64 now)
{
	struct jank_slices *slices = slices__own();

	if (slices)
		slices__add(slices, task, pids__tid(task), ns, now ?: bpf_ktime_get_ns());
	return 0;
}

/* A task of another class leaves this CPU. The idle task is not logged. */
static __noinline int slices__leave_other(struct task_struct *task, u64 now)
{
	struct jank_slices *slices = slices__own();
	u64 ns;

	if (!slices || !KREAD(task, pid) || slices->arrival_tid != (__u32)KREAD(task, pid))
		return 0;
	now = now ?: bpf_ktime_get_ns();
	ns = now - slices->arrival_ns;
	if (ns >= JANK_SLICE_MIN_NS || slices__sum(slices, ns))
		slices__leave(task, ns, now);
	return 0;
}

/* A task of another class gets this CPU. */
static __noinline int slices__arrive_other(struct task_struct *task, u64 now)
{
	struct jank_slices *slices = slices__own();

	if (!slices || !KREAD(task, pid))
		return 0;
	slices->arrival_ns = now ?: bpf_ktime_get_ns();
	slices->arrival_tid = KREAD(task, pid);
	return 0;
}

/* A switch of this CPU at now; 0: the time is read if it is needed. */
static __always_inline void slices__switch(struct task_struct *prev, struct task_struct *next,
					   u64 now)
{
	bool next_is_fair = queue_clock__is_fair(next);
	struct jank_slices *slices;
	u64 ns;

	barrier_var(next_is_fair); /* read on one path only: see KREAD */
	if (queue_clock__is_fair(prev)) {
		ns = KREAD(prev, se.sum_exec_runtime) - KREAD(prev, se.prev_sum_exec_runtime);
		slices = slices__own();
		if (slices && (ns >= JANK_SLICE_MIN_NS || slices__sum(slices, ns)))
			slices__leave(prev, ns, now);
	} else {
		slices__leave_other(prev, now);
	}
	if (!next_is_fair)
		slices__arrive_other(next, now);
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

/* Returns the place of the task that ran least, if that is less than ns; else JANK_SLICE_MAX. */
WALKED_ONCE __u32 slices__least(u64 ns)
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
	if (task->ns)
		slices->found_cut = true;
	slices->found_ns -= task->ns;
	task->ns = 0;
	task->tgid = slice->tgid;
	task->tid = slice->tid;
	__builtin_memcpy(task->comm, slice->comm, sizeof(task->comm));
	return task;
}

/*
 * Adds the time since from_ns of the nr-th latest entry. Returns false if all older ones ended
 * before from_ns.
 */
WALKED_ONCE int slices__find(__u32 nr, u64 from_ns, __u32 own_tid)
{
	struct jank_slices *slices = slices__own();
	struct jank_slice *slice;
	struct jank_task *task;
	u64 ns;

	if (!slices)
		return false;
	slice = &slices->log[(slices->head - nr) & (JANK_SLICE_LOG - 1)];
	if (slice->end_ns <= from_ns) /* a merged one may have ended after its successors */
		return slice->end_ns + JANK_SLICE_MERGE_NS > from_ns;
	ns = slices__since(slice, from_ns);
	if (slice->tid != own_tid) {
		task = slices__place(slices, slice, ns);
		if (!task) {
			slices->found_cut = true;
			return true;
		}
		task->ns += ns;
	}
	slices->found_ns += ns;
	return true;
}

/* The verifier walks fewer turns of two short loops than of a long one. */
#define SLICES_STEP 16

/* The same for SLICES_STEP entries from the nr-th latest on. */
WALKED_ONCE int slices__find_some(__u32 nr, u64 from_ns, __u32 own_tid)
{
	for (__u32 i = 0; i < SLICES_STEP; i++)
		if (!slices__find(nr + i, from_ns, own_tid))
			return false;
	return true;
}

/*
 * Finds the tasks that ran on this CPU from from_ns to now, each task once, and stores them in
 * slices->found. When the table is full, it keeps those that ran longest.
 */
WALKED_ONCE int slices__collect(u64 from_ns, u64 now, __u32 own_tid)
{
	struct jank_slices *slices = slices__own();
	__u32 nr;

	if (!slices)
		return 0;
	slices->query_cnt++;
	slices->found_cnt = 0;
	slices->found_cut = false;
	slices->found_ns = 0;
	for (nr = 1; nr <= JANK_SLICE_LOG; nr += SLICES_STEP)
		if (!slices__find_some(nr, from_ns, own_tid))
			break;
	if (nr > JANK_SLICE_LOG)
		slices->found_cut = true;
	/* Many short slices with a small sum are not reported as missing. */
	if (slices->found_ns + (now - from_ns) / 8 > now - from_ns)
		slices->found_cut = false;
	return 0;
}

/*
 * Appends the found tasks to the span, with as many priorities: the record's size shows how many
 * count.
 */
static __always_inline void slices__append(struct jank_stack_buf *span, u64 from_ns, u64 now,
					   __u32 own_tid)
{
	struct jank_slices *slices = slices__own();
	__u64 at = span->rec.kernel_cnt + span->rec.user_cnt, end;
	struct jank_task *tasks;

	barrier_var(at); /* the verifier must see the same value that was tested */
	if (!slices || at > JANK_KSTACK_MAX + JANK_USTACK_MAX)
		return;
	slices__collect(from_ns, now, own_tid);
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
