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
	const char *when;   /* the condition; NULL: always */
};

extern const struct kept_cap kept_caps[];
extern const size_t kept_cap_cnt;

/* What matters here. */
struct privilege_needs {
	bool sudo;    /* another user's sinks (user_account__is_sudo) */
	bool command; /* COMMAND */
};

/* True if a run with these options keeps the capability on this kernel. */
bool privileges__keeps(const struct kept_cap *cap, const struct privilege_needs *needs);

/*
 * Drops the other capabilities of the calling thread, and sets no_new_privs. Call it after what
 * only root can do once (tracefs) and after COMMAND's fork. Returns 0, or -errno with a message.
 */
int privileges__drop(const struct privilege_needs *needs, struct err *err);

#endif
