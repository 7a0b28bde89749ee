/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of an interpreter. They lie in its heap and no longer exist when user space looks. They
 * are therefore read with the thread's stack: the code object and the instruction of each frame;
 * the names live longer. User space gives their location in this version of CPython for each thread
 * (jank_scripts). If any thread has such an entry, threads without one pay a lookup.
 *
 * The thread's entry holds the buffer. A switch fills it; when a tick uses it, its content was
 * already sent when the thread returned.
 *
 * Global functions: see copy_user_stack.bpf.h.
 */
#ifndef JANK_SCRIPT_BPF_H
#define JANK_SCRIPT_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/pids.bpf.h"

static __always_inline bool script__any(void)
{
	__u32 zero = 0, *any = bpf_map_lookup_elem(&jank_script_any, &zero);

	return any && *any;
}

/* The thread's interpreter state no longer exists, or belongs to another thread from now on. */
static __always_inline void script__forget(__u32 tid)
{
	if (script__any())
		bpf_map_delete_elem(&jank_scripts, &tid);
}

int script__take_own(__u64 dispatch_ns, __u64 t_ns);
int script__send_of(__u32 tgid, __u32 tid, __u64 t_ns, __u64 now);

/*
 * Reads the frames of the current task, to be sent later or never. A tick that interrupts a switch
 * in this function (by a non-maskable interrupt) skips them.
 */
static __always_inline void script__take(__u64 dispatch_ns, __u64 t_ns)
{
	if (script__any())
		script__take_own(dispatch_ns, t_ns);
}

/* Sends the frames taken at t_ns, of any task. They are dropped together with their stack. */
static __always_inline void script__send_taken(struct task_struct *task, __u64 t_ns, __u64 now)
{
	if (script__any())
		script__send_of(pids__tgid(task), pids__tid(task), t_ns, now);
}

/* Takes and sends the current task's frames, with its stack. */
static __always_inline void script__send(struct task_struct *task, __u64 dispatch_ns, __u64 t_ns)
{
	script__take(dispatch_ns, t_ns);
	script__send_taken(task, t_ns, t_ns);
}

/*
 * Identity of the place where an interpreter's thread waits: one number for all its frames. Waits
 * at different places in the program have different numbers, even if all their callers in C are the
 * same. Returns that of the current task's frames, which stay in its entry; 0: it has none.
 */
int script_place__identity(__u32 tgid, __u32 tid);

/*
 * Sends the frames that identify the current task's wait, with the begin of its dispatch (0: none).
 * Its WAIT record must follow.
 */
int script_place__send(__u64 dispatch_ns, __u64 now);

#endif
