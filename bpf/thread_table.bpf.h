/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the state of a thread is kept: in the task's own storage, or for kernels without that in a
 * table by thread id.
 */
#ifndef JANK_THREAD_TABLE_BPF_H
#define JANK_THREAD_TABLE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/share.bpf.h"

#ifdef JANK_PLAIN
#define THREAD_BY_ID 1

/*
 * Returns the state of the thread that had number tid before an exec. The typed object finds it by
 * the task itself.
 */
static __always_inline struct jank_thread *thread__get_as(struct task_struct *task, __u32 tid)
{
	return bpf_map_lookup_elem(&jank_threads, &tid);
}

static __always_inline struct jank_thread *thread__get(struct task_struct *task)
{
	return thread__get_as(task, pids__tid(task));
}

static __always_inline struct jank_thread *thread__alloc(struct task_struct *task)
{
	__u32 zero = 0, tid = pids__tid(task);
	struct jank_thread *blank = bpf_map_lookup_elem(&jank_blank, &zero), *t;

	if (!blank || bpf_map_update_elem(&jank_threads, &tid, blank, BPF_NOEXIST)) {
		lost__add(JANK_LOST_NO_THREAD);
		return NULL;
	}
	t = bpf_map_lookup_elem(&jank_threads, &tid);
	if (t)
		t->task = (u64)task;
	return t;
}

/* Returns nonzero when the table is full, or the user is over its share of it. */
static __noinline int thread__make(struct task_struct *task)
{
	__u32 user = share__of(task);
	struct jank_thread *t;

	if (!jank_conf.tgid && !share__takes_thread(user))
		return -1;
	t = thread__alloc(task);
	if (t) {
		t->user = user;
		t->counted_user = !jank_conf.tgid;
		return 0;
	}
	if (!jank_conf.tgid)
		share__return_thread(user);
	return -1;
}

/* Sets the task of an entry that user space may have created. */
static __always_inline void thread__is(struct jank_thread *t, struct task_struct *task)
{
	t->task = (u64)task;
}

static __noinline int thread__drop(struct task_struct *task, __u32 tid)
{
	struct jank_thread *t = bpf_map_lookup_elem(&jank_threads, &tid);

	if (t && t->counted_user)
		share__return_thread(t->user);
	bpf_map_delete_elem(&jank_threads, &tid);
	return 0;
}

/* The thread ends: another thread may get its number from here on. */
static __always_inline void thread__free(struct task_struct *task, __u32 tid)
{
	thread__drop(task, tid);
}
#else
#define THREAD_BY_ID 0

static __always_inline struct jank_thread *thread__get(struct task_struct *task)
{
	return bpf_task_storage_get(&jank_threads, task, NULL, 0);
}

static __always_inline struct jank_thread *thread__get_as(struct task_struct *task, __u32 tid)
{
	return thread__get(task);
}

static __always_inline struct jank_thread *thread__alloc(struct task_struct *task)
{
	return bpf_task_storage_get(&jank_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void thread__is(struct jank_thread *t, struct task_struct *task)
{
}

static __always_inline void thread__drop(struct task_struct *task, __u32 tid)
{
	bpf_task_storage_delete(&jank_threads, task);
}

/* The kernel frees the storage with the task's last reference. */
static __always_inline void thread__free(struct task_struct *task, __u32 tid)
{
}
#endif

static __always_inline struct jank_thread *thread__create(struct task_struct *task)
{
#ifdef JANK_PLAIN
	struct jank_thread *t = thread__make(task) ? NULL : thread__get(task);

	if (!t)
		return NULL;
#else
	struct jank_thread *t = thread__alloc(task);

	if (!t) {
		lost__add(JANK_LOST_NO_THREAD);
		return NULL;
	}
	t->user = share__of(task);
#endif
	t->fd = -1;
	t->loop = JANK_LOOP_EPOLL;
	return t;
}

#endif
