/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directories of cgroups that a user names, in the hierarchy of version 2. */
#ifndef JANK_PROCFS_CGROUP_FIND_H
#define JANK_PROCFS_CGROUP_FIND_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <sys/types.h>

/*
 * Opens the cgroup at a path (below the mount point, or with it) or, for a word that names a
 * systemd unit, all of that name: users have managers of their own. Returns how many descriptors
 * are in ret (at most max, the caller's to close); -ENOENT: none; -E2BIG: more than max; -ENOTSUP:
 * no v2 hierarchy is mounted; -EMEDIUMTYPE: that path is something else; -EINVAL: an empty path.
 */
int cgroup__open(const char *path, int *ret, int max);

/* Does the process run in that cgroup (an open directory), or below it? */
bool cgroup__holds(int fd, pid_t pid);

/* Where the v2 hierarchy is mounted, by a text like /proc/mounts. 0 or -ENOTSUP. */
int cgroup__parse_mounts(const char *text, struct strbuf *ret);

#endif
