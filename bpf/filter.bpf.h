/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Selection of traced threads. The cheapest test comes first: with one process it is a comparison
 * with a constant.
 */
#ifndef JANK_FILTER_BPF_H
#define JANK_FILTER_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/pids.bpf.h"

/* Returns false when the process is certainly not traced; true: test further. */
static __always_inline bool filter__maybe(struct task_struct *task)
{
	return !jank_conf.tgid || (__u32)KREAD(task, tgid) == jank_conf.tgid;
}

static __always_inline bool filter__uid(void)
{
	__u32 uid = bpf_get_current_uid_gid();

	for (__u32 i = 0; i < JANK_FILTER_MAX; i++)
		if (i < jank_conf.uid_cnt && uid == jank_conf.uids[i])
			return true;
	return false;
}

/* Is the current task in a cgroup of the list, or below one? */
static __always_inline bool filter__cgroup(void)
{
	for (__u32 i = 0; i < JANK_FILTER_MAX; i++)
		if (i < jank_cgroup_cnt && bpf_current_task_under_cgroup(&jank_cgroups, i) == 1)
			return true;
	return false;
}

static __noinline bool filter__glob(__u32 index, const char *comm)
{
	const struct jank_glob *glob = bpf_map_lookup_elem(&jank_globs, &index);
	__u32 state = 1;

	if (!glob)
		return false;
	for (int i = 0; i < JANK_COMM_SZ && comm[i]; i++)
		state = (state & glob->match[(__u8)comm[i]]) << 1 | (state & glob->star);
	return state & glob->accept;
}

/* Matches the process name, which is the name of its main thread. */
static __always_inline bool filter__name(struct task_struct *task)
{
	char comm[JANK_COMM_SZ];

	bpf_probe_read_kernel(comm, sizeof(comm), KREAD(task, group_leader)->comm);
	for (__u32 i = 0; i < JANK_FILTER_MAX; i++)
		if (i < jank_conf.glob_cnt && filter__glob(i, comm))
			return true;
	return false;
}

/* -a: do the filters admit the current task? */
static __noinline bool filter__admits(struct task_struct *task)
{
	__u32 tgid = pids__tgid(task);

	if (tgid == jank_conf.self_tgid || tgid >= JANK_PID_OUTSIDE)
		return false;
	if (jank_conf.uid_cnt && !filter__uid())
		return false;
	if (jank_conf.in_cgroups && !filter__cgroup())
		return false;
	return !jank_conf.glob_cnt || filter__name(task);
}

/* Is the current task traced? */
static __always_inline bool filter__traced(struct task_struct *task)
{
	__u32 tgid;

	if (jank_conf.main_thread && KREAD(task, pid) != KREAD(task, tgid))
		return false;
	if (jank_conf.tgid)
		return (__u32)KREAD(task, tgid) == jank_conf.tgid;
	if (jank_conf.all)
		return filter__admits(task);
	tgid = pids__tgid(task);
	return bpf_map_lookup_elem(&jank_tgids, &tgid) != NULL;
}

/* Is every loop of the process unwanted? */
static __always_inline bool filter__is_left(struct task_struct *task)
{
	__u32 tgid = pids__tgid(task), slot = tgid % JANK_LEFT_MAX;
	const __u32 *left = bpf_map_lookup_elem(&jank_left, &slot);

	return left && *left == tgid;
}

/* The process has ended, or has another program now. */
static __always_inline void filter__forget_left(__u32 tgid)
{
	__u32 slot = tgid % JANK_LEFT_MAX;
	__u32 *left = bpf_map_lookup_elem(&jank_left, &slot);

	if (left && *left == tgid)
		*left = 0;
}

/* Are loops of this kind wanted (-l)? */
static __always_inline bool filter__wants(__u32 loop)
{
	return !jank_conf.loop_mask || jank_conf.loop_mask & 1u << loop;
}

/* Does user space know the thread's name as one of user-interface threads? */
static __always_inline bool filter__is_ui_thread(struct task_struct *task)
{
	u64 comm[JANK_COMM_SZ / 8];

	BPF_CORE_READ_INTO(&comm, task, comm);
	for (int i = 0; i < JANK_UI_THREAD_MAX; i++) {
		const volatile struct jank_comm_pattern *ui = &jank_conf.ui_threads[i];

		if (ui->mask[0] && !((comm[0] ^ ui->want[0]) & ui->mask[0]) &&
		    !((comm[1] ^ ui->want[1]) & ui->mask[1]))
			return true;
	}
	return false;
}

/* Returns the part of the process's JANK_PARKS_* that applies to this thread. */
static __always_inline __u32 filter__parks(__u32 kinds, struct task_struct *task)
{
	if (kinds & (JANK_PARKS_WORKERS | JANK_PARKS_MAIN) && KREAD(task, pid) != KREAD(task, tgid))
		kinds |= JANK_PARKS_COMPARED;
	if (kinds & JANK_PARKS_WORKERS)
		return kinds | JANK_PARKS_MAIN;
	if (kinds & JANK_PARKS_COMPARED && !filter__is_ui_thread(task))
		return kinds & ~JANK_PARKS_MAIN;
	return kinds;
}

#endif
