/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mounts that a process sees, from /proc/PID/mountinfo: which file systems have no device, and
 * where they are mounted.
 */
#ifndef JANK_PROCFS_MOUNTINFO_H
#define JANK_PROCFS_MOUNTINFO_H

#include "base/strbuf.h"
#include <stddef.h>
#include <sys/types.h>

/* Paths are decoded. Users choose root, point, source and a FUSE's type: any bytes. */
struct mount {
	int id;
	dev_t dev;
	char *root; /* the mounted part of the file system */
	char *point, *type, *source;
};

struct mountinfo {
	struct strbuf text; /* holds the strings of the mounts */
	struct mount *mounts;
	size_t cnt;
};

/*
 * Reads the mounts. proc: "/proc". 0; -ENOMEM; or -errno: the result is empty. mountinfo__free
 * accepts the result of any call.
 */
int mountinfo__read(const char *proc, pid_t pid, struct mountinfo *ret);
void mountinfo__free(struct mountinfo *mi);

const struct mount *mountinfo__by_id(const struct mountinfo *mi, int id); /* or NULL */

/* The next mount of this device after `after` (NULL: the first one), or NULL. */
const struct mount *mountinfo__next_of(const struct mountinfo *mi, dev_t dev,
				       const struct mount *after);

/*
 * The mount that holds an absolute path, judged by the path's text; the last one if several share a
 * mount point. Or NULL.
 */
const struct mount *mountinfo__of_path(const struct mountinfo *mi, const char *path);

/* True if another machine or a daemon serves the mount's files, so that access may block. */
bool mount__is_remote(const struct mount *mount);

/*
 * --- the name of a file's device: "vda1", a device mapper's "vg-home", "tmpfs", "nfs4
 * server:/export".
 */

/* Adds the name of a device. Without a block device: the type of the file system and its server. */
void devname__add(struct strbuf *sb, const char *sys, const struct mountinfo *mi, dev_t dev);

#endif
