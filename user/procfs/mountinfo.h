/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mounts that a process sees, by /proc/PID/mountinfo: whose file system has no device of its
 * own, and where.
 */
#ifndef JANK_PROCFS_MOUNTINFO_H
#define JANK_PROCFS_MOUNTINFO_H

#include "base/strbuf.h"
#include <stddef.h>
#include <sys/types.h>

/* Paths are decoded; root, point, source and a FUSE's type are somebody's own choice: any bytes. */
struct mount {
	int id;
	dev_t dev;
	char *root; /* what of the file system is mounted */
	char *point, *type, *source;
};

struct mountinfo {
	struct strbuf text; /* what the mounts' strings point into */
	struct mount *mounts;
	size_t cnt;
};

/*
 * proc: "/proc". 0; -ENOMEM; or -errno: then there are none. mountinfo__free accepts what any call
 * left.
 */
int mountinfo__read(const char *proc, pid_t pid, struct mountinfo *ret);
void mountinfo__free(struct mountinfo *mi);

const struct mount *mountinfo__by_id(const struct mountinfo *mi, int id); /* or NULL */

/* The next one of this device behind `after`, of all when that is NULL; or NULL. */
const struct mount *mountinfo__next_of(const struct mountinfo *mi, dev_t dev,
				       const struct mount *after);

/*
 * The mount that an absolute path lies on, by its text alone; of several at one point the last. Or
 * NULL.
 */
const struct mount *mountinfo__of_path(const struct mountinfo *mi, const char *path);

/* Whether somebody else's machine or program answers for its files, and may take its time. */
bool mount__is_remote(const struct mount *mount);

/*
 * The name of what a file is on: "vda1", a device mapper's "vg-home", "tmpfs", "nfs4
 * server:/export".
 */

/* The same of a file's device: without a block device the file system's type, and who serves it. */
void devname__add(struct strbuf *sb, const char *sys, const struct mountinfo *mi, dev_t dev);

#endif
