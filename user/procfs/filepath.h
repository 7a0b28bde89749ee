/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of a file that is known by inode and device, found through the descriptors or mappings
 * of the process.
 */
#ifndef JANK_PROCFS_FILEPATH_H
#define JANK_PROCFS_FILEPATH_H

#include "base/strbuf.h"
#include "procfs/mountinfo.h"
#include <stdint.h>
#include <sys/types.h>

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
 * --- cache of paths of mapped files. A page fault has only the inode and device of its file, and
 * the process may have ended before its last block is reported. One thread only.
 */

/* Stores a copy. It lasts for a minute, or until 16 others are stored. */
void mapped_paths__put(uint32_t pid, const struct file_number *number, const char *path,
		       uint64_t now_ns);

/* NULL: not cached. The string is valid until the next put. */
const char *mapped_paths__get(uint32_t pid, const struct file_number *number, uint64_t now_ns);

#endif
