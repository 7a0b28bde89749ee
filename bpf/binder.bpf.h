/* SPDX-License-Identifier: GPL-2.0 */
/* The binder call that a thread in a dispatch waits for: its server and code. */
#ifndef JANK_BINDER_BPF_H
#define JANK_BINDER_BPF_H

#include "bpf/thread.bpf.h"

#define BINDER_ONE_WAY 1 /* TF_ONE_WAY, uapi/linux/android/binder.h */

static __always_inline struct jank_thread *binder__thread(void)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t = filter__maybe(task) ? thread__get(task) : NULL;

	return t && t->start_ns ? t : NULL;
}

/*
 * The current thread sends a call to the process `server` (the machine's number), or a reply. A
 * reply ends a call that came while it waited for another one's reply: which one it waits for then
 * is not kept. Nor is the call if it sleeps elsewhere before it waits (wait_args__ask).
 */
static __always_inline void binder__sends(__u32 server, __u32 code, __u32 flags, __u32 reply)
{
	struct jank_thread *t = binder__thread();

	if (!t || (flags & BINDER_ONE_WAY && !reply))
		return;
	t->await.got = 0;
	if (reply)
		return;
	t->await.server = server;
	t->await.code = code;
	barrier();
	t->await.got = JANK_WAITED_BINDER;
}

/* The current thread receives the reply, or a call to handle meanwhile. */
static __always_inline void binder__receives(void)
{
	struct jank_thread *t = binder__thread();

	if (t)
		t->await.got = 0;
}

#endif
