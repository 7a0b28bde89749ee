/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A living thread by its number: of the machine, or of its process's own pid namespace. */
#ifndef JANK_PROCFS_THREADNAME_H
#define JANK_PROCFS_THREADNAME_H

#include "bpf/jank_abi.h"
#include <stdint.h>

/*
 * What the thread calls itself; any bytes. 0; -ESRCH: the process has no such thread; or -errno.
 * proc: "/proc".
 */
int threadname__read(const char *proc, uint32_t pid, uint32_t tid, char ret[JANK_COMM_SZ + 1]);

/* The thread of the process that has this number in its own pid namespace, or 0: it has none. */
uint32_t threadname__by_ns_tid(const char *proc, uint32_t pid, uint32_t ns_tid);

#endif
