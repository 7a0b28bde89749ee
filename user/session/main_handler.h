/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handler that a main thread is in: for those who attach when the program hangs already. */
#ifndef JANK_SESSION_MAIN_HANDLER_H
#define JANK_SESSION_MAIN_HANDLER_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

struct main_handler {
	uint32_t pid, parent_pid;
	uint32_t tid;		    /* the main thread, Java's, or another */
	_Atomic uint64_t sleep_cnt; /* how often the thread has slept */
	int32_t epfd;		    /* the epoll whose loop it is in; or JANK_OPENING_SEEN */
	_Atomic uint64_t since_ns;  /* JANK_OPENING_SEEN: since when it sleeps; 0: not known */
	bool runs;		    /* is in no call, as far as is known */
	bool may_rest; /* is in a call in which loops or threads with nothing to do wait */
	bool rests;    /* … and in which no handler does */
	bool traced;   /* the filters admit its process */
	bool asked;    /* the sink thread looks at its stack */
	uint8_t again; /* how often it was looked at again */
	bool futex;    /* is in a futex */
	bool locked;   /* … whose owner is known */
	bool alone;    /* no other thread may be in a handler and rest in a futex there */
	char state;    /* as in /proc/PID/stat */
	/* in its handler, if the stack shows a lock or a sleep; -1: no such epoll */
	int32_t lock_epfd;
	struct jank_seen_wait wait;
};

/*
 * Is the process's main thread in a handler? It is if the process has an epoll of its own with
 * members, the main thread is in no call in which a thread may rest, and all others are, or sleep
 * for a time, but in no wait on that epoll. A thread may rest in a wait for events, signals,
 * connections, input, its turn, and in a futex, where runtimes park theirs. A main thread that
 * waits there for a lock whose owner is known, of its own process, does not rest, whatever the
 * others do.
 *
 * In a process of Java's launcher it is the thread that runs Java's main. Java sleeps and locks by
 * futexes without an owner, so that what it waits for is left to its stack (lock_epfd).
 *
 * Takes 50 ms more if it has several threads. Reads /proc, and some bytes of the process's memory
 * that are present. 0; -EAGAIN: it waits in epoll; -ENODATA: it rests otherwise, or nothing of this
 * tells, but its stack may (ret has all but epfd, as far as it is known); -E2BIG: too many threads
 * or descriptors; or -errno. Any thread.
 */
int main_handler__find(uint32_t pid, struct main_handler *ret);

/* Has the process an epoll, of whatever members? Any thread. */
bool main_handler__has_epoll(uint32_t pid);
/* Only what the main thread waits for, if it sleeps, and sleep_cnt. */
void main_handler__read_wait(uint32_t pid, struct main_handler *ret);

/*
 * The same for any thread, without a search for epolls: whether it rests, what it waits for. 0;
 * -EAGAIN: it waits in epoll; -ENODATA: nothing is known of it; or -errno. Any thread.
 */
int thread_handler__look(uint32_t pid, uint32_t tid, struct main_handler *ret);

/* How often a thread has slept; UINT64_MAX: not known. */
uint64_t thread_handler__sleep_cnt(uint32_t pid, uint32_t tid);

#endif
