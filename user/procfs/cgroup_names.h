/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the path of a cgroup says of who runs in it: the container, the Kubernetes pod, the systemd unit. By
 * the names that the runtimes give; they are the same in versions 1 and 2.
 */
#ifndef JANK_PROCFS_CGROUP_NAMES_H
#define JANK_PROCFS_CGROUP_NAMES_H

struct cgroup_names {
	char container[80]; /* id of 64 digits; LXC's and systemd-nspawn's own name */
	char pod[40];	    /* its uid, written with '-' */
	char unit[256];	    /* the innermost one */
};

/* "" where the path tells nothing. */
void cgroup__names(const char *path, struct cgroup_names *ret);

#endif
