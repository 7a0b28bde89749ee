/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cgroups of the selection that are removed and made again. All functions run on the intake
 * thread.
 */
#ifndef JANK_SESSION_CGROUP_WATCH_H
#define JANK_SESSION_CGROUP_WATCH_H

#include "options/filter.h"
#include "session/main_threads.h"

struct loader;

struct cgroup_watch {
	struct filter *filter; /* borrowed, as are the next two */
	struct loader *loader;
	struct mains *mains;	   /* may be NULL */
	uint64_t look_ns, cost_ns; /* time of the last look; CPU time that it cost us */
	bool told[FILTER_MAX];	   /* by name: the log says that it is missing */
};

void cgroup_watch__begin(struct cgroup_watch *watch); /* reports what is missing */
void cgroup_watch__look(struct cgroup_watch *watch);  /* periodic */

#endif
