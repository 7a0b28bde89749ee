/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 32-bit programs on this 64-bit kernel (i386 on x86-64, arm on arm64). Their system calls pass the
 * tracepoints of single calls by, and uprobes cannot be had in them, so it must be known before the
 * probes are chosen.
 */
#ifndef JANK_PROBES_COMPAT32_H
#define JANK_PROBES_COMPAT32_H

#include <stdbool.h>
#include <sys/types.h>

/* Does the process run one? False also when that can't be told. */
bool compat32__process(pid_t pid);

/* Each process that does, until fn returns true. Some 4 us for each of the machine. */
void compat32__each(bool (*fn)(void *ctx, pid_t pid), void *ctx);

/*
 * Is it one that a shell would run for this name (from PATH unless there is a slash in it)? The
 * interpreter counts for a script.
 */
bool compat32__command(const char *name);

/* Is the file one, or a script that is run by one? */
bool compat32__file(const char *path);

#endif
