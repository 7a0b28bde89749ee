/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop's descriptor, seen from outside. Nothing tells when a program is done with a loop, but for
 * the epoll behind its number, which is closed then: what the thread does after it is no dispatch.
 */
#ifndef JANK_LOOP_BPF_H
#define JANK_LOOP_BPF_H

#include "bpf/fd.bpf.h"
#include "bpf/maps.bpf.h"

/* The file behind a task's descriptor; NULL when there is none, whatever the reason. */
static __always_inline struct file *loop__file(struct task_struct *task, s32 fd)
{
	struct file *file;

	fd__file(task, fd, &file);
	return file;
}

/* The loop's descriptor is known from here on. */
static __always_inline void loop__set_fd(struct jank_thread *t, struct task_struct *task, s32 fd)
{
	t->fd = fd;
	t->file_ops = (u64)BPF_CORE_READ(loop__file(task, fd), f_op);
}

/*
 * Is the loop's descriptor still an epoll's? Which one doesn't matter: a program that closes its
 * loop and makes a new one gets the number again. Where it isn't known, the loop lives.
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
