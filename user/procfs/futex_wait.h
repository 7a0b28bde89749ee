/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock that a sleeping thread waits for, and the number of its owner, read from outside. It is
 * for a wait that may never end, so one look costs some files of /proc and a read of 32 bytes of
 * the process's memory. Sink thread.
 */
#ifndef JANK_PROCFS_FUTEX_WAIT_H
#define JANK_PROCFS_FUTEX_WAIT_H

#include <stdbool.h>
#include <stdint.h>

enum lock_kind {
	LOCK_MUTEX,
	LOCK_PI_MUTEX,
	LOCK_RWLOCK,
	LOCK_REFUSED, /* glibc waits forever: the kernel refused it a PI mutex (EDEADLK, ESRCH) */
};

struct futex_wait {
	uint64_t address;    /* of the futex word */
	uint64_t switch_cnt; /* how often the thread has left the CPU */
	enum lock_kind kind;
	uint32_t owner; /* tid in the owner's pid namespace; 0: LOCK_REFUSED */
	bool shared;	/* processes share it */
};

/*
 * Looks at a thread that sleeps for a lock without a timeout. Two equal results, one after the
 * other, mean that it slept all the time between. 0; -ENODATA: it does not, or the lock does not
 * say who owns it; or -errno. proc: "/proc". 64-bit programs only.
 */
int futex_wait__read(const char *proc, uint32_t pid, uint32_t tid, struct futex_wait *ret);

/* The system call that a thread is blocked in, from /proc/PID/task/TID/syscall. */
struct blocked_call {
	uint64_t nr, args[6], sp, pc;
};

/* 0; -ENODATA: it runs, or is blocked outside a system call; or -errno. Any thread. */
int blocked_call__read(const char *proc, uint32_t pid, uint32_t tid, struct blocked_call *ret);

/* The thread whose end the call waits for (pthread_join); 0: none is known. Any thread. */
uint32_t joined_thread__find(const char *proc, uint32_t pid, const struct blocked_call *call);

/* The parser, for tests. */
bool blocked_call__parse(const char *text, struct blocked_call *ret);

/*
 * What the words of a lock say to a waiter; the memory is as the caller of futex_wait__read found
 * it. words: 32 bytes from `from` on. For tests.
 */
struct lock_words {
	uint32_t before;  /* the word in front of the futex */
	uint32_t word[6]; /* from the futex on */
	uint32_t base[2]; /* of a rwlock: its first two words */
};
bool lock_words__read(const struct blocked_call *call, const struct lock_words *words,
		      struct futex_wait *ret);

#endif
