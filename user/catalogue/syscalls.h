/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls: what a thread blocked in one waits for, and the threads that are blocked now. */
#ifndef JANK_CATALOGUE_SYSCALLS_H
#define JANK_CATALOGUE_SYSCALLS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * Fills in what the probes must know about system calls of this architecture and of its 32-bit
 * programs: epoll_nr, restart_nr, syscall_class.
 */
void syscalls__set(struct jank_conf *conf);

/* The class of a system call (JANK_CLASS_*); JANK_CLASS_PLAIN for an unknown number. */
unsigned syscalls__class(int nr);

/* The names in a class (JANK_CLASS_*), separated by blanks; NULL for a class without names. */
const char *syscalls__of_class(unsigned class);

/* Does a call of this name wait for a signal? Nothing that a handler does waits so. */
bool syscalls__waits_for_signals(const char *name);

/*
 * --- Threads that are waiting in a loop's system call now, from /proc; they may have waited for
 * hours.
 */

/*
 * Calls fn for each such thread of the process. rec's turn_cnt is 0: the wait is the only evidence.
 */
void idle_waits__each(uint32_t pid, void (*fn)(void *ctx, const struct jank_rec_wait *rec),
		      void *ctx);

/*
 * The system call that a thread of the process is blocked in, or -1: it runs, is blocked outside a
 * system call, or has ended. *ret_loop: the kind of loop that waits in this call (JANK_LOOP_*), or
 * 0.
 */
long idle_waits__call(uint32_t pid, uint32_t tid, uint32_t *ret_loop);

/*
 * Parses "NR ARG… SP IP" of /proc/PID/task/TID/syscall. False: the thread waits in none of these
 * calls.
 */
bool idle_waits__parse(const char *text, struct jank_rec_wait *ret);

#endif
