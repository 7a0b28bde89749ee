/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one of our own processes gives up at its start, before it has threads. In this order, with
 * a change of the user after the first step.
 */
#ifndef JANK_BASE_CONFINE_H
#define JANK_BASE_CONFINE_H

#include "base/syscall_filter.h"

/*
 * Empties the bounding set, where that is still allowed: at the start of a trace. After a restart
 * the set is the tracer's, which no_new_privs makes useless. 0 or -errno.
 */
int confine__drop_bounding_set(void);

/* Drops all capabilities. 0 or -errno. */
int confine__drop_capabilities(void);

struct confine_limits {
	unsigned file_max; /* descriptors */
	int orphan_signal; /* sent to the process when the thread that started it ends */
	/* Allowed besides syscalls_base. more: NULL for none. */
	const struct syscall_list *calls, *more;
	const struct syscall_end *end; /* of a forbidden call; NULL: it fails */
};

/*
 * Sets no_new_privs, makes the process untraceable, and limits its descriptors and system calls. A
 * build or a kernel without filters has no filter. 0 or -errno.
 */
int confine__limit(const struct confine_limits *limits);

#endif
