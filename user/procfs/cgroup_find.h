/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the directories of cgroups that the user names, in the version 2 hierarchy. */
#ifndef JANK_PROCFS_CGROUP_FIND_H
#define JANK_PROCFS_CGROUP_FIND_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <sys/types.h>

/*
 * Opens the cgroup at a path (with or without the mount point). A word that names a systemd unit
 * opens all cgroups of that name, because each user has a manager. Returns the number of
 * descriptors in ret (at most max; the caller closes them). -ENOENT: none; -E2BIG: more than max;
 * -ENOTSUP: no v2 hierarchy is mounted; -EMEDIUMTYPE: the path is not a cgroup; -EINVAL: an empty
 * path.
 */
int cgroup__open(const char *path, int *ret, int max);

/* True if the process runs in that cgroup (an open directory) or below it. */
bool cgroup__holds(int fd, pid_t pid);

/* Finds the v2 mount point in a text like /proc/mounts. 0 or -ENOTSUP. */
int cgroup__parse_mounts(const char *text, struct strbuf *ret);

#endif
