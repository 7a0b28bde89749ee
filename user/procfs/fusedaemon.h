/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The daemon of a FUSE file system: the process that has /dev/fuse open for its connection, by fdinfo ("fuse_connection", since
 * Linux 6.16, 514d9210bf45). Before, the only process that has /dev/fuse open, if there is but one.
 */
#ifndef JANK_PROCFS_FUSEDAEMON_H
#define JANK_PROCFS_FUSEDAEMON_H

#include "procfs/mountinfo.h"
#include <stdint.h>
#include <sys/types.h>

/* proc: "/proc". mount: of any type; NULL: unknown. 0: it is no FUSE, or the daemon is not found. */
pid_t fusedaemon__find(const char *proc, const struct mount *mount, uint64_t now_ns);

#endif
