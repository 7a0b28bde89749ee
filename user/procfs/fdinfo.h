/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel tells of an open descriptor in /proc/PID/task/TID/fdinfo: "KEY: value", a line each. */
#ifndef JANK_PROCFS_FDINFO_H
#define JANK_PROCFS_FDINFO_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

/* Adds the text of the descriptor; task: "/proc/1/task/2". Nothing is added where it can't be read. */
void fdinfo__read(const char *task, int32_t fd, struct strbuf *sb);

/* Sets *ret to what stands behind "KEY:" at a line's begin, without blanks before it; false: there is no such line. */
bool fdinfo__value(const char *text, const char *key, const char **ret);

/*
 * The kernel's own number of the file behind the descriptor; *ret_mount, unless NULL: its mount's, 0: not known. No file
 * system is asked that may take its time. 0: closed, or not known.
 */
uint64_t fdinfo__inode(const char *task, int32_t fd, int *ret_mount);

#endif
