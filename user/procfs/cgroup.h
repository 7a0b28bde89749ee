/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup by which a thread gets its CPU time. */
#ifndef JANK_PROCFS_CGROUP_H
#define JANK_PROCFS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Sets *ret to its path, for free(): that of version 1's cpu controller where it has one, else
 * version 2's; where neither says more than the root, as the process is known by
 * (procinfo__parse_cgroup). NULL: the thread has ended, or the kernel has no cgroups. 0 or -ENOMEM.
 * proc: "/proc".
 */
int cgroup_cpu__path(const char *proc, uint32_t pid, uint32_t tid, char **ret);

/*
 * What a cgroup and its children may use of a CPU's time in each period; 0: as much as there is, or
 * not known.
 */
struct cgroup_quota {
	uint64_t quota_ns, period_ns;
};

/*
 * Of the cgroup at the path, or of that above it which has the least: path is cut to it. False:
 * none has a quota. mount: "/sys/fs/cgroup", below which version 1 has its cpu controller.
 */
bool cgroup_cpu__quota(const char *mount, char *path, struct cgroup_quota *ret);

/* The part that parses /proc/PID/cgroup, for tests; the text is changed. Into text, or NULL. */
const char *cgroup_cpu__parse(char *text);

/*
 * What the path of a cgroup says of who runs in it: the container, the Kubernetes pod, the systemd
 * unit. By the names that the runtimes give; they are the same in versions 1 and 2.
 */

struct cgroup_names {
	char container[80]; /* id of 64 digits; LXC's and systemd-nspawn's own name */
	char pod[40];	    /* its uid, written with '-' */
	char unit[256];	    /* the innermost one */
};

/* "" where the path tells nothing. */
void cgroup__names(const char *path, struct cgroup_names *ret);

#endif
