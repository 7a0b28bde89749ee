/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon of a FUSE file system: the process that has /dev/fuse open for its connection, by
 * fdinfo ("fuse_connection", since Linux 6.16, 514d9210bf45). Before, the only process that has
 * /dev/fuse open, if there is but one.
 */
#ifndef JANK_PROCFS_FD_HOLDER_H
#define JANK_PROCFS_FD_HOLDER_H

#include "procfs/mountinfo.h"
#include <stdint.h>
#include <sys/types.h>

/*
 * proc: "/proc". mount: of any type; NULL: unknown. 0: it is no FUSE, or the daemon is not found.
 */
pid_t fusedaemon__find(const char *proc, const struct mount *mount, uint64_t now_ns);

/*
 * Which process has a socket open: /proc/PID/fd of all of them is read, within bounds, and the
 * answer kept for a while.
 */

/*
 * The process that has the socket with this inode open, or 0: none was found. Of several it is the
 * one looked at first: hint (0: none), which is asked in any case; then others, not_pid last.
 * now_ns: CLOCK_MONOTONIC. Answers are kept for a second; from one thread only. proc: "/proc".
 */
pid_t socketholder__find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid,
			 uint64_t now_ns);

#endif
