/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of our own. */
#ifndef JANK_BASE_THREAD_H
#define JANK_BASE_THREAD_H

#include <pthread.h>
#include <sys/types.h>

/*
 * Starts one that no signal is delivered to: they are for the thread that waits for them. name:
 * what top -H shows of it, at most 15 bytes. 0 or -errno; the caller joins it.
 */
int thread__start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg);

/*
 * Gives a thread of ours a nice value. Without CAP_SYS_NICE a higher one could not be taken back:
 * the thread stays as it is.
 */
void thread__set_nice(pid_t tid, int nice);

#endif
