/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies of user stacks; user space finds the callers in them by unwind tables. When a thread
 * leaves the CPU, its copy is kept in a slot, chosen by thread id, until the span turns out long:
 * its memory is readable only while it is the current task. Dispatches have slots of their own, so
 * that the many other threads do not overwrite them.
 *
 * No pointer arguments: see WALKED_ONCE.
 */
#ifndef JANK_COPY_USER_STACK_BPF_H
#define JANK_COPY_USER_STACK_BPF_H

#include "bpf/pids.bpf.h"

/* Copies the current task's stack into its slot. Returns 0 on success. */
WALKED_ONCE int copy_user_stack__take(u64 dispatch_ns, u64 t_ns);

/* Sends the copy of the thread taken at t_ns; its STACK must follow. Returns 0 on success. */
WALKED_ONCE int copy_user_stack__send(__u32 tid, u64 t_ns);

/* The thread runs again: its copy is sent or not needed, so another thread may have the slot. */
WALKED_ONCE int copy_user_stack__release(__u32 tid);

/*
 * Sends the current task's stack in a wait, before its WAIT record. If user space read it from
 * outside, a page of a file system that never answers would block the reader forever. Returns 0 on
 * success.
 */
WALKED_ONCE int copy_user_stack__send_wait(u64 now);

/*
 * The same as take and send for a thread without a dispatch. A missing copy is not counted as a
 * loss: its frame pointers were followed, too.
 */
WALKED_ONCE int copy_user_stack__take_other(u64 t_ns);
WALKED_ONCE int copy_user_stack__send_other(__u32 tid, u64 t_ns);

/* Copies and sends the current task's stack at once; its STACK must follow. */
static __always_inline int copy_user_stack__send_now(u64 dispatch_ns, u64 now)
{
	__u32 tid = pids__tid(KERNEL_CURRENT());
	int err;

	if (copy_user_stack__take(dispatch_ns, now))
		return -1;
	err = copy_user_stack__send(tid, now);
	copy_user_stack__release(tid);
	return err;
}

#ifdef JANK_UPROBES
#include "bpf/copy_user_stack.bpf.c"
#endif

#endif
