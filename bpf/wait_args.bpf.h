/* SPDX-License-Identifier: GPL-2.0 */
/* Details of a wait that lie in the thread's own memory: mutex, timeout, descriptor. */
#ifndef JANK_WAIT_ARGS_BPF_H
#define JANK_WAIT_ARGS_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/futex.h"
#include "bpf/maps.bpf.h"

#define TIMER_ABSTIME	   1
#define CLOCK_ID_MAX	   64		/* a larger value is an address */
#define WAITED_TIMEOUT_MAX (1ull << 55) /* about a year */

/* Does a thread in futex(2) wait for a lock? */
static __always_inline bool wait_args__is_lock(struct pt_regs *regs)
{
	__u32 cmd = compat__syscall_arg(regs, 1) & FUTEX_CMD_MASK;

	return cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2 ||
	       (cmd == FUTEX_WAIT && (__u32)compat__syscall_arg(regs, 2) == FUTEX_CONTENDED);
}

/*
 * Reads a timespec in the program's memory and stores the timeout from now on. offset: the clock's
 * value minus CLOCK_MONOTONIC's, in ns.
 */
static __always_inline void wait_args__timespec(struct jank_await *await, u64 addr, bool absolute,
						u64 offset, u64 now)
{
	u64 ts[2], ns;

	if (!addr || bpf_probe_read_user(ts, sizeof(ts), (void *)addr))
		return;
	ns = ts[0] * 1000000000ull + ts[1];
	if (absolute)
		ns -= now + offset;
	if (ns > WAITED_TIMEOUT_MAX)
		return;
	await->timeout_ns = ns;
	await->got |= JANK_WAITED_TIMEOUT;
}

static __always_inline void wait_args__ms(struct jank_await *await, s32 ms)
{
	if (ms < 0)
		return;
	await->timeout_ns = ms * 1000000ull;
	await->got |= JANK_WAITED_TIMEOUT;
}

/* glibc's struct __pthread_mutex_s: lock, count, owner (sysdeps/nptl/bits/struct_mutex.h). */
static __always_inline void wait_args__futex(struct jank_await *await, struct pt_regs *regs,
					     u64 now)
{
	u64 op = compat__syscall_arg(regs, 1);
	__u32 cmd = op & FUTEX_CMD_MASK;
	__u32 words[3];

	if (!bpf_probe_read_user(words, sizeof(words), (void *)compat__syscall_arg(regs, 0))) {
		await->futex_word = words[0];
		await->owner = words[2];
		await->got |= JANK_WAITED_FUTEX;
	}
	if (cmd == FUTEX_WAIT || cmd == FUTEX_WAIT_BITSET)
		wait_args__timespec(await, compat__syscall_arg(regs, 3), cmd == FUTEX_WAIT_BITSET,
				    op & FUTEX_CLOCK_REAL ? jank_conf.real_offset_ns : 0, now);
}

static __always_inline void wait_args__sleep(struct jank_await *await, struct pt_regs *regs,
					     u64 now)
{
	u64 arg0 = compat__syscall_arg(regs, 0);

	if (arg0 >= CLOCK_ID_MAX) /* nanosleep */
		wait_args__timespec(await, arg0, false, 0, now);
	else
		wait_args__timespec(await, compat__syscall_arg(regs, 2),
				    compat__syscall_arg(regs, 1) & TIMER_ABSTIME,
				    arg0 ? 0 : jank_conf.real_offset_ns, now);
}

static __always_inline void wait_args__timeout(struct jank_await *await, u64 arg, u64 now)
{
	if (arg > POLL_TIMEOUT_MAX)
		wait_args__timespec(await, arg, false, 0, now);
	else
		wait_args__ms(await, arg);
}

/* The kernel writes to the timeout only when the call returns. */
static __always_inline void wait_args__select(struct jank_await *await, struct pt_regs *regs)
{
	u64 addr = compat__syscall_arg(regs, 4), unit = 1, tv[2];

	if (!addr || bpf_probe_read_user(tv, sizeof(tv), (void *)addr))
		return;
	if (compat__syscall_nr(regs) == jank_conf.select_nr)
		unit = 1000;
	await->timeout_ns = tv[0] * 1000000000ull + tv[1] * unit;
	await->got |= JANK_WAITED_TIMEOUT;
}

static __always_inline void wait_args__none(struct jank_await *await)
{
	await->inode = 0;
	await->got = 0;
	await->fd = -1;
}

/* Long paths are cut: their begin shows the location. */
static __always_inline void wait_args__path(struct jank_await *await, u64 addr)
{
	if (bpf_probe_read_user_str(await->path, sizeof(await->path), (void *)addr) > 1)
		await->got |= JANK_WAITED_PATH;
}

/*
 * Returns the descriptor that a system call of this class waits for in JANK_STATE_*, if its
 * arguments contain it; -1: none.
 */
static __always_inline s32 wait_args__fd(struct pt_regs *regs, __u32 state, __u32 class)
{
	switch (class) {
	case JANK_CLASS_SENDFILE:
		return state == JANK_STATE_DISK ? compat__syscall_arg(regs, 1)
						: compat__syscall_arg(regs, 0);
	case JANK_CLASS_POLL:
	case JANK_CLASS_SOCKET:
	case JANK_CLASS_ACCEPT:
	case JANK_CLASS_RECV:
	case JANK_CLASS_FD:
	case JANK_CLASS_IOCTL:
	case JANK_CLASS_FILE_FD:
	case JANK_CLASS_PATH_AT:
		return compat__syscall_arg(regs, 0);
	}
	return -1;
}

/*
 * Another task sleeps in a system call: since it is not the current task, only its arguments are
 * readable.
 */
static __noinline int wait_args__see(struct jank_await *await, struct task_struct *task,
				     __u32 state, __u32 class)
{
	wait_args__none(await);
	await->fd = wait_args__fd(compat__user_regs(task), state, class);
	return 0;
}

/* The current task is about to sleep in a system call. 32-bit programs have other structures. */
WALKED_EACH int wait_args__ask(struct jank_await *await, struct task_struct *task, __u32 state,
			       __u32 class, u64 now)
{
	struct pt_regs *regs = compat__user_regs(task);

	/* a call of the driver may sleep several times until the reply comes */
	await->got = class == JANK_CLASS_IOCTL ? await->got & JANK_WAITED_BINDER : 0;
	await->fd = wait_args__fd(regs, state, class);
	if (compat__is_32bit(regs))
		return 0;
	if (class == JANK_CLASS_FUTEX) {
		wait_args__futex(await, regs, now);
	} else if (class == JANK_CLASS_SLEEP) {
		wait_args__sleep(await, regs, now);
	} else if (class == JANK_CLASS_POLL_FDS) {
		if (!compat__syscall_arg(regs, 1) ||
		    bpf_probe_read_user(&await->fd, sizeof(await->fd),
					(void *)compat__syscall_arg(regs, 0)))
			await->fd = -1;
		wait_args__timeout(await, compat__syscall_arg(regs, 2), now);
	} else if (class == JANK_CLASS_PATH) {
		wait_args__path(await, compat__syscall_arg(regs, 0));
	} else if (class == JANK_CLASS_PATH_AT) {
		wait_args__path(await, compat__syscall_arg(regs, 1));
	} else if (class == JANK_CLASS_SELECT) {
		wait_args__select(await, regs);
	} else if (class == JANK_CLASS_POLL) {
		wait_args__timeout(await, compat__syscall_arg(regs, 3), now);
	}
	return 0;
}

#endif
