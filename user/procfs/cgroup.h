/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroups: the one that gives a thread its CPU time, names in a path, and those that a user names.
 */
#ifndef JANK_PROCFS_CGROUP_H
#define JANK_PROCFS_CGROUP_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sets *ret to the cgroup's path, which the caller frees: that of version 1's cpu controller if
 * there is one, else version 2's. Where both are the root, the path is the process's
 * (procinfo__parse_cgroup). NULL: the thread has ended, or the kernel has no cgroups. 0 or -ENOMEM.
 * proc: "/proc".
 */
int cgroup_cpu__path(const char *proc, uint32_t pid, uint32_t tid, char **ret);

/* CPU time that a cgroup and its children may use in each period; 0: unlimited or not known. */
struct cgroup_quota {
	uint64_t quota_ns, period_ns;
};

/*
 * Reads the quota of the cgroup at path, or the smallest quota among its parents; path is cut to
 * that cgroup. False: none has a quota. mount: "/sys/fs/cgroup", below which version 1 has its cpu
 * controller.
 */
bool cgroup_cpu__quota(const char *mount, char *path, struct cgroup_quota *ret);

/*
 * Returns how many bytes a process may still take before a limit of its cgroup, or of a parent of
 * that, makes the kernel kill it; UINT64_MAX: no limit is known. mount: "/sys/fs/cgroup"; list:
 * "/proc/self/cgroup".
 */
uint64_t cgroup_memory__left(const char *mount, const char *list);

/*
 * Reads the first numbers of a cgroup's file, at most two; returns their count. "max" and -1 are
 * not numbers. dir: of the cgroup.
 */
int cgroup__read_numbers(const char *dir, const char *name, unsigned long long ret[2]);

/* Parser of /proc/PID/cgroup, for tests; changes the text. Returns a pointer into text, or NULL. */
const char *cgroup_cpu__parse(char *text);

/*
 * --- names in a cgroup's path: the container, the Kubernetes pod, the systemd unit. They follow
 * the runtimes' naming, which is the same in versions 1 and 2.
 */

struct cgroup_names {
	char container[80]; /* id of 64 digits; for LXC and systemd-nspawn the container's name */
	char pod[40];	    /* its uid, written with '-' */
	char unit[256];	    /* the innermost one */
	size_t parent_len;  /* of the path, up to the cgroup in which the innermost name was made */
};

/* Fields are "" where the path has no such name. */
void cgroup__names(const char *path, struct cgroup_names *ret);

/*
 * The user who could have invented these names: who owns a cgroup may give its children any names.
 * Returns the owner of the outermost of those cgroups that is not root's; 0: all are root's, the
 * path has no names, or the cgroups cannot be seen. mount: as for cgroup_cpu__quota.
 */
uid_t cgroup__names_uid(const char *mount, const char *path, const struct cgroup_names *names);

/* --- cgroup_find.c: directories of cgroups that the user names, in the version 2 hierarchy */

/*
 * Opens the cgroup at a path (with or without the mount point). A word that names a systemd unit
 * opens all cgroups of that name, because each user has a manager. Returns the number of
 * descriptors in ret (at most max; the caller closes them). -ENOENT: none; -E2BIG: more than max;
 * -ENOTSUP: no v2 hierarchy is mounted; -EMEDIUMTYPE: the path is not a cgroup; -EINVAL: an empty
 * path.
 */
int cgroup__open(const char *path, int *ret, int max);

/* True if the cgroup (an open directory) was removed; one of the same path may be there again. */
bool cgroup__is_removed(int fd);

/* True if the process runs in that cgroup (an open directory) or below it. */
bool cgroup__holds(int fd, pid_t pid);

/* Finds the v2 mount point in a text like /proc/mounts. 0 or -ENOTSUP. */
int cgroup__parse_mounts(const char *text, struct strbuf *ret);

#endif
