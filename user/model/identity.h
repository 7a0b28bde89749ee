/* SPDX-License-Identifier: GPL-2.0 */
/* What a block says of its process: read while it lived, kept until the run ends. */
#ifndef JANK_IDENTITY_H
#define JANK_IDENTITY_H

#include <stdint.h>

struct identity {
	uint32_t pid, uid;
	char *name;   /* command name or the executable's base name */
	char *exe;    /* NULL when unknown */
	char *cgroup; /* NULL when unknown */
};

/* A deep copy, or NULL: out of memory. */
struct identity *identity__copy(const struct identity *process);
void identity__free(struct identity *process); /* accepts NULL */

#endif
