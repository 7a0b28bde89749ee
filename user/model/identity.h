/* SPDX-License-Identifier: GPL-2.0 */
/* What a block says of its process: read while it lived, kept until the run ends. */
#ifndef JANK_MODEL_IDENTITY_H
#define JANK_MODEL_IDENTITY_H

#include <stdint.h>

#define UID_UNKNOWN UINT32_MAX

struct identity {
	uint32_t pid;
	uint32_t uid;	 /* UID_UNKNOWN: it had ended before it could be looked at */
	uint32_t ns_pid; /* in its own pid namespace; 0 when unknown */
	char *name;	 /* command name or the executable's base name */
	/* NULL when unknown, or when there is none. */
	char *exe;
	char *cgroup;
	char *container; /* its id; LXC's or systemd-nspawn's name */
	char *pod;	 /* its uid in Kubernetes */
	char *unit;	 /* systemd's */
};

/* A deep copy, or NULL: out of memory. */
struct identity *identity__copy(const struct identity *process);
void identity__free(struct identity *process); /* accepts NULL */

#endif
