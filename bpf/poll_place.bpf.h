/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Places of polls: the system call, its array and the depth of the stack (struct jank_place), and
 * whether two waits are at one place.
 */
#ifndef JANK_POLL_PLACE_BPF_H
#define JANK_POLL_PLACE_BPF_H

#include "bpf/loop_wait.bpf.h"

static __always_inline __u32 poll__class(s32 nr)
{
	return nr < 0 ? JANK_CLASS_PLAIN : jank_conf.syscall_class[nr & (JANK_SYSCALL_MAX - 1)];
}

static __always_inline bool poll__class_waits(__u32 class)
{
	return class == JANK_CLASS_POLL_FDS || class == JANK_CLASS_SELECT ||
	       class == JANK_CLASS_IO_URING;
}

/*
 * Does poll only check one descriptor without waiting? A client that waits for an answer does not.
 */
static __always_inline bool poll__is_look(struct pt_regs *regs, __u32 class)
{
	u64 timeout = compat__syscall_arg(regs, 2), ts[2];

	if (class != JANK_CLASS_POLL_FDS || compat__syscall_arg(regs, 1) != 1)
		return false;
	if (timeout <= POLL_TIMEOUT_MAX)
		return !timeout;
	return !bpf_probe_read_user(ts, sizeof(ts), (void *)timeout) && !ts[0] && !ts[1];
}

/* Returns the user-space address of the array that is waited on. */
static __always_inline u64 poll__fds(struct pt_regs *regs, __u32 class)
{
	return class == JANK_CLASS_SELECT ? compat__syscall_arg(regs, 1)
					  : compat__syscall_arg(regs, 0);
}

/* A place where the thread has not waited yet: no other one is like it. */
#define POLL_NR_UNKNOWN (-1)

static __always_inline struct jank_place poll__place(struct pt_regs *regs, s32 nr, __u32 class)
{
	return (struct jank_place){
		.sp = compat__user_sp(regs),
		.fds = poll__fds(regs, class),
		.nr = nr,
		.fd_cnt = compat__syscall_arg(regs, 1),
		.first_fd = -1,
	};
}

/*
 * Tolerated difference of stack pointers, in bytes. Interpreters reach the same wait with the same
 * array through paths of different depth (CPython specialises its code at run time: 40 to 96 bytes
 * observed).
 */
#define POLL_SP_SLOP 256

/*
 * Comparisons of a place without branches: the verifier would walk what follows once for each
 * outcome. Each returns 0 or 1.
 */
static __always_inline u64 poll__is_any(u64 bits)
{
	return (bits | -bits) >> 63;
}

static __always_inline u64 poll__differ(u64 a, u64 b)
{
	return poll__is_any(a ^ b);
}

static __always_inline u64 poll__is_far(u64 sp, u64 other)
{
	u64 above = sp + POLL_SP_SLOP - other;

	return (above | (2 * POLL_SP_SLOP - above)) >> 63;
}

/*
 * An address at most POLL_STACK_MAX bytes above the stack pointer is on the stack; a value below
 * POLL_ADDRESS_MIN is no address.
 */
#define POLL_STACK_MAX	 (1u << 20)
#define POLL_ADDRESS_MIN 0x10000

/*
 * Returns the same number, but hides it from the verifier, which would otherwise walk the following
 * code once for each outcome of a comparison.
 */
static __always_inline u64 poll__forget(u64 number)
{
	asm volatile("%0 |= 0" : "+r"(number));
	return number;
}

static __always_inline s32 poll__first_fd(const struct jank_place *at)
{
	s32 fd;

	return bpf_probe_read_user(&fd, sizeof(fd), (void *)at->fds) ? -1 : fd;
}

static __always_inline bool poll__on_stack(const struct jank_place *at)
{
	u64 fds = poll__forget(at->fds);

	return fds < POLL_ADDRESS_MIN || fds - poll__forget(at->sp) <= POLL_STACK_MAX;
}

/*
 * Does the wait deeper in the stack wait for the loop's own events, as a modal dialog's loop does?
 * The array decides. It must not be on the stack, where another caller's array may lie at another
 * time. An array that grew has moved, but begins with the same descriptor. It may have shrunk again
 * since (GLib keeps an array that grew for a wait without a sleep).
 */
static __always_inline bool poll__has_its_array(const struct jank_place *place,
						const struct jank_place *at)
{
	u64 fds = poll__forget(at->fds);

	if (poll__on_stack(at))
		return false;
	if (fds == place->fds)
		return true;
	return place->fd_cnt > 1 && poll__forget(at->fd_cnt) > 1 && place->first_fd >= 0 &&
	       poll__first_fd(at) == place->first_fd;
}

/* So many descriptors of an array are compared with epoll's. */
#define POLL_FDS_SEEN 8
#define POLL_FD_SZ    8 /* sizeof(struct pollfd) */

static __always_inline bool poll__fds_include(const struct pt_regs *regs, s32 fd)
{
	u64 fds = compat__syscall_arg(regs, 0);
	__u32 cnt = compat__syscall_arg(regs, 1);
	s32 seen;

	for (__u32 i = 0; i < POLL_FDS_SEEN; i++) {
		if (i >= cnt ||
		    bpf_probe_read_user(&seen, sizeof(seen), (void *)(fds + i * POLL_FD_SZ)))
			return false;
		if (seen == fd)
			return true;
	}
	return false;
}

/* Is the descriptor in the set of those that select reads from? */
static __always_inline bool poll__set_includes(const struct pt_regs *regs, s32 fd)
{
	u64 set = compat__syscall_arg(regs, 1);
	__u8 bits;

	if (fd >= (s32)compat__syscall_arg(regs, 0) ||
	    bpf_probe_read_user(&bits, sizeof(bits), (void *)(set + fd / 8)))
		return false;
	return bits >> fd % 8 & 1;
}

/* Does the select that has not returned yet wait for standard input? */
static __always_inline bool poll__selects_input(struct task_struct *task, __u32 class)
{
	return class == JANK_CLASS_SELECT && poll__set_includes(compat__user_regs(task), 0);
}

/*
 * Stores the set of a select that has not returned yet: it overwrites the set with its result.
 */
static __always_inline void poll__read_set(struct jank_place *at)
{
	u64 set = 0;

	if (poll__class(at->nr) == JANK_CLASS_SELECT)
		bpf_probe_read_user(&set, sizeof(set), (void *)at->fds);
	at->set = poll__forget(set);
}

/* Has each set more than one descriptor, and have both the same first one? Returns 0 or 1. */
static __always_inline u64 poll__begins_alike(u64 set, u64 other)
{
	u64 all = set | other;

	return poll__is_any(set & (set - 1)) & poll__is_any(other & (other - 1)) &
	       poll__is_any(set & other & (all & -all));
}

/*
 * Does select wait for the loop's own descriptors, called by the same function at nearly the same
 * depth? A loop may reach it in several ways: Emacs' read_char waits directly and in sit_for. A
 * single descriptor does not decide: it may be a client's.
 */
static __always_inline u64 poll__has_its_set(const struct jank_place *place,
					     const struct jank_place *at)
{
	return poll__begins_alike(at->set, place->set) &
	       ~poll__differ(at->fds - at->sp, place->fds - place->sp);
}

WALKED_ONCE_BY_POINTER int poll__here(const struct jank_place *place, const struct jank_place *at)
{
	u64 near, same;

	if (!place || !at || place->nr != at->nr)
		return false;
	near = ~poll__is_far(at->sp, place->sp);
	same = (~poll__differ(at->sp, place->sp) & 1) |
	       (near & ~poll__differ(at->fds, place->fds) & 1) |
	       (near & poll__has_its_set(place, at));
	return poll__forget(same) || poll__has_its_array(place, at);
}

#endif
