/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities that a run keeps, and why. The others are dropped before the first thread starts, so
 * no thread and no helper process has them. Programs that they start do not get them back: the
 * bounding set lacks them, and no_new_privs is set.
 */
#ifndef JANK_PROBES_PRIVILEGES_H
#define JANK_PROBES_PRIVILEGES_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

struct kept_cap {
	int nr; /* CAP_* */
	const char *name;
	const char *reason; /* what needs it after the start */
	bool for_exec;	    /* not effective: a program that root executes gets it back */
};

extern const struct kept_cap kept_caps[];
extern const size_t kept_cap_cnt;

/*
 * Drops the other capabilities of the calling thread, and sets no_new_privs. Call it after what
 * only root can do once (tracefs) and after COMMAND's fork. Returns 0, or -errno with a message.
 */
int privileges__drop(struct err *err);

#endif
