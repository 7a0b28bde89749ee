/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptor of a loop. The end of a loop has no event of its own. The only sign is that the epoll
 * behind its descriptor is closed; what the thread does afterwards is no dispatch.
 */
#ifndef JANK_LOOP_BPF_H
#define JANK_LOOP_BPF_H

#include "bpf/fd.bpf.h"
#include "bpf/maps.bpf.h"

/* Returns the file behind a task's descriptor; NULL when there is none, for any reason. */
static __always_inline struct file *loop__file(struct task_struct *task, s32 fd)
{
	struct file *file;

	fd__file(task, fd, &file);
	return file;
}

/* Records the loop's descriptor. */
static __always_inline void loop__set_fd(struct jank_thread *t, struct task_struct *task, s32 fd)
{
	t->fd = fd;
	t->file_ops = (u64)BPF_CORE_READ(loop__file(task, fd), f_op);
}

/*
 * Is the loop's descriptor still an epoll? It may be another one: a program that closes its loop
 * and creates a new one gets the same number. If the descriptor is not known, the loop counts as
 * alive.
 */
static __always_inline bool loop__lives(const struct jank_thread *t, struct task_struct *task)
{
	struct file *file;

	if (t->fd < 0)
		return true;
	file = loop__file(task, t->fd);
	return file && (u64)BPF_CORE_READ(file, f_op) == t->file_ops;
}

#endif
