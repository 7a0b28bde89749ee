/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Search for a process by what the links of its descriptors say. Bounded by the number of links that are read: each costs about a
 * microsecond.
 */
#ifndef JANK_PROCFS_FDSCAN_H
#define JANK_PROCFS_FDSCAN_H

#include <stdbool.h>
#include <sys/types.h>

/* Is it the descriptor (its number as text) that is searched for? */
typedef bool fdscan_fn(void *ctx, pid_t pid, const char *fd, const char *link);

/* proc: "/proc". */
bool fdscan__has(const char *proc, pid_t pid, fdscan_fn *is, void *ctx);

/* 0: none but not_pid, or not found in time. */
pid_t fdscan__find(const char *proc, pid_t not_pid, fdscan_fn *is, void *ctx);

#endif
