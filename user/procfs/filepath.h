/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of a file that is known by inode and device, found through the descriptors, mappings and
 * mounts of the process.
 */
#ifndef JANK_PROCFS_FILEPATH_H
#define JANK_PROCFS_FILEPATH_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * --- mountinfo.c: the mounts that a process sees, from /proc/PID/mountinfo: which file systems
 * have no device, and where they are mounted.
 */

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

/* --- filepath.c: the path of a file */

/* Inode and device of a file inside the kernel. On overlay and btrfs, stat reports other values. */
struct file_number {
	uint64_t inode;
	dev_t dev;
};

/*
 * Each adds a path (any bytes, " (deleted)" removed) and returns 0. Or it adds nothing and returns
 * -ESTALE: it is now another file, or -errno: no such file, or it has no path. proc: "/proc".
 */

/* task: "/proc/1/task/2"; fd: a descriptor of that task. */
int filepath__add_fd(struct strbuf *sb, const char *task, int32_t fd, const struct mountinfo *mi,
		     const struct file_number *want);

/* leaf: the file's name or NULL, for kernels that show another device than the file's (overlay). */
int filepath__add_mapped(struct strbuf *sb, const char *proc, pid_t pid,
			 const struct file_number *want, const char *leaf);

/*
 * text: "leaf\0dir\0dir\0…" up to the root of the file system, sz bytes. The probes fill at most
 * half of it and one more name, whose end may be missing. Adds the full path if a mount of the
 * process has the file at these names; else the known names after "…/". 0, or -ENOENT: no names.
 */
int filepath__add_names(struct strbuf *sb, const char *proc, pid_t pid, const struct mountinfo *mi,
			const struct file_number *want, const char *text, size_t sz);

/*
 * Adds a path as a call gives it, made absolute by the thread's current directory, or by the
 * descriptor folder (negative: none). Does not access the file.
 */
void filepath__add_given(struct strbuf *sb, const char *proc, uint32_t tid, int32_t folder,
			 const char *path);

/*
 * --- cache of paths of mapped files. A page fault has only the inode and device of its file, and
 * the process may have ended before its last block is reported. One thread only.
 */

/* Stores a copy. It lasts for a minute, or until 16 others are stored. */
void mapped_paths__put(uint32_t pid, const struct file_number *number, const char *path,
		       uint64_t now_ns);

/* NULL: not cached. The string is valid until the next put. */
const char *mapped_paths__get(uint32_t pid, const struct file_number *number, uint64_t now_ns);

#endif
