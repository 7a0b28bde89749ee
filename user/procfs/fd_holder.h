/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon of a FUSE file system: the process that has /dev/fuse open for that connection, by
 * fdinfo ("fuse_connection", since Linux 6.16, 514d9210bf45). On older kernels: the only process
 * that has /dev/fuse open, if there is exactly one.
 */
#ifndef JANK_PROCFS_FD_HOLDER_H
#define JANK_PROCFS_FD_HOLDER_H

#include "procfs/mountinfo.h"
#include <stdint.h>
#include <sys/types.h>

/*
 * Finds the daemon's pid. proc: "/proc". mount: of any type; NULL: unknown. Returns 0 if the mount
 * is not FUSE or the daemon is not found.
 */
pid_t fusedaemon__find(const char *proc, const struct mount *mount, uint64_t now_ns);

/*
 * --- the process that has a socket open: reads /proc/PID/fd of all processes, within limits, and
 * caches the answer.
 */

/*
 * The process that has the socket with this inode open, or 0: not found. With several such
 * processes, the first one checked: hint (0: none), which is always checked, then others, not_pid
 * last. now_ns: CLOCK_MONOTONIC. Answers are cached for a second. One thread only. proc: "/proc".
 */
pid_t socketholder__find(const char *proc, uint64_t inode, pid_t hint, pid_t not_pid,
			 uint64_t now_ns);

#endif
