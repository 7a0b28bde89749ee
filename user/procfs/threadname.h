/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookup of a live thread by its tid, of the machine or of its process's pid namespace. */
#ifndef JANK_PROCFS_THREADNAME_H
#define JANK_PROCFS_THREADNAME_H

#include "bpf/jank_abi.h"
#include <stdint.h>

/*
 * Reads the thread's name; any bytes. 0; -ESRCH: the process has no such thread; or -errno. proc:
 * "/proc".
 */
int threadname__read(const char *proc, uint32_t pid, uint32_t tid, char ret[JANK_COMM_SZ + 1]);

/* The tid of the process's thread that has this number in its own pid namespace, or 0: none. */
uint32_t threadname__by_ns_tid(const char *proc, uint32_t pid, uint32_t ns_tid);

#endif
