/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that run this program again, as a part of this one. */
#ifndef JANK_BASE_OWN_PROCESS_H
#define JANK_BASE_OWN_PROCESS_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A descriptor of ours, and its number in the process. */
struct own_process_fd {
	int fd, as;
};

/*
 * Starts this program file with one argument. It inherits stdout, stderr, these descriptors, and
 * all signals blocked. name: its argv[0]. 0 or -errno.
 */
int own_process__start(const char *name, const char *word, const struct own_process_fd *fds,
		       size_t cnt, pid_t *ret);

/*
 * For a process that this one forked for itself, and will end. own_process__start does so, too. Any
 * thread.
 */
void own_process__add(pid_t pid);
void own_process__remove(pid_t pid);

/*
 * fork(2) for such a process: adds it. In it all signals are blocked. Call remove when it has
 * ended.
 */
pid_t own_process__fork(void);

/* True if it is this process, or one of these. Any thread. */
bool own_process__has(pid_t pid);

/*
 * For the process: returns true if a tracer started it, so that this descriptor is its socket. Then
 * it ignores the signals of the terminal and of full files: the tracer ends it.
 */
bool own_process__begin(int sock);

/*
 * Makes memory to share with the process. Its size is sealed. name: shown in /proc. Returns a
 * descriptor, or -errno.
 */
int own_process__shared(const char *name, size_t size);

/*
 * Closes its socket, by which it ends, and waits for that; kills it at once, or when it does not
 * end in time. A process that cannot be killed, in an endless read of its disk, is left behind.
 * *sock, *pid: become -1 and 0. *ret_status: as of waitpid, if it has ended.
 */
void own_process__end(_Atomic pid_t *pid, int *sock, bool at_once, int *ret_status);

/* "exit status 1", "killed by signal 9" */
void own_process__add_end(struct strbuf *sb, int status);

#endif
