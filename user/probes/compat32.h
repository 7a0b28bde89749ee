/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects 32-bit programs on this 64-bit kernel (i386 on x86-64, arm on arm64). Their system calls
 * bypass the tracepoints of single system calls, and uprobes do not work in them. So this must be
 * known before the probes are chosen.
 */
#ifndef JANK_PROBES_COMPAT32_H
#define JANK_PROBES_COMPAT32_H

#include <stdbool.h>
#include <sys/types.h>

/* Does the process run a 32-bit program? False also when unknown. */
bool compat32__process(pid_t pid);

/*
 * Calls fn for each such process until fn returns true. About 4 us for each process of the machine.
 */
void compat32__each(bool (*fn)(void *ctx, pid_t pid), void *ctx);

/*
 * Is `name` a 32-bit program, as a shell would find it (in PATH unless it contains a slash)? For a
 * script, the interpreter counts.
 */
bool compat32__command(const char *name);

/* Is the file a 32-bit program, or a script with a 32-bit interpreter? */
bool compat32__file(const char *path);

#endif
