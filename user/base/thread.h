/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads and descriptors of this program. */
#ifndef JANK_BASE_THREAD_H
#define JANK_BASE_THREAD_H

#include <pthread.h>
#include <sys/types.h>

/*
 * Starts a thread with all signals blocked: the thread that waits for signals receives them. name:
 * shown by top -H, at most 15 bytes. 0 or -errno; the caller joins the thread.
 */
int thread__start(pthread_t *ret, const char *name, void *(*fn)(void *arg), void *arg);

/*
 * Sets a nice value for one of our threads. Does nothing without CAP_SYS_NICE, because a higher
 * value could not be lowered again.
 */
void thread__set_nice(pid_t tid, int nice);

/* Closes every descriptor from `first` on. Only system calls: for a new process. */
void fds__close_from(int first);

#endif
