/* SPDX-License-Identifier: GPL-2.0 */
/* Which process has a socket open: /proc/PID/fd of all of them is read, within bounds, and the answer kept for a while. */
#ifndef JANK_PROCFS_SOCKETHOLDER_H
#define JANK_PROCFS_SOCKETHOLDER_H

#include <stdint.h>
#include <sys/types.h>

/*
 * The process that has the socket with this inode open, or 0: none was found. Of several it is the one looked at
 * first: hint (0: none), which is asked in any case; then others, not_pid last. now_ns: CLOCK_MONOTONIC. Answers are
 * kept for a second; from one thread only. proc: "/proc".
 */
pid_t socketholder__find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid,
			 uint64_t now_ns);

#endif
