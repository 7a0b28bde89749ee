/* SPDX-License-Identifier: GPL-2.0 */
/* What a block says of its process: read while it lived, kept until the run ends. */
#ifndef JANK_PROCESS_H
#define JANK_PROCESS_H

#include <stdint.h>

struct process {
	uint32_t pid, uid;
	char *name;   /* command name or the executable's base name */
	char *exe;    /* NULL when unknown */
	char *cgroup; /* NULL when unknown */
};

/* A deep copy, or NULL: out of memory. */
struct process *process__copy(const struct process *process);
void process__free(struct process *process); /* accepts NULL */

#endif
