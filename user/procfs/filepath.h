/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a file that is known by its number, found where the process has it open or mapped. */
#ifndef JANK_PROCFS_FILEPATH_H
#define JANK_PROCFS_FILEPATH_H

#include "base/strbuf.h"
#include "procfs/mountinfo.h"
#include <stdint.h>
#include <sys/types.h>

/* A file as the kernel knows it: on overlay and btrfs stat says otherwise. */
struct file_number {
	uint64_t inode;
	dev_t dev;
};

/*
 * Each adds a path (any bytes, " (deleted)" removed) and returns 0; or adds nothing and returns
 * -ESTALE: it is another file by now, or -errno: there is none, or it has no path. proc: "/proc".
 */

/* task: "/proc/1/task/2"; fd is its descriptor. */
int filepath__add_fd(struct strbuf *sb, const char *task, int32_t fd, const struct mountinfo *mi,
		     const struct file_number *want);

/*
 * leaf: the file's own name or NULL, for kernels that show another device than the file's
 * (overlay).
 */
int filepath__add_mapped(struct strbuf *sb, const char *proc, pid_t pid,
			 const struct file_number *want, const char *leaf);

/*
 * text: "leaf\0dir\0dir\0…" up to the file system's root, sz bytes, of which the probes fill half
 * and a name (whose end may be missing). Where a mount of the process has that file under them, its
 * whole path; else what there is of it, behind "…/". 0, or -ENOENT: no names.
 */
int filepath__add_names(struct strbuf *sb, const char *proc, pid_t pid, const struct mountinfo *mi,
			const struct file_number *want, const char *text, size_t sz);

/*
 * Paths of mapped files that were found before: a page fault is known by its file's number alone,
 * and whose maps would tell the path may have ended when its last block is looked at. From one
 * thread only.
 */

/* Keeps a copy for a minute, as long as fewer than 16 others come. */
void mapped_paths__put(uint32_t pid, const struct file_number *number, const char *path,
		       uint64_t now_ns);

/* NULL: it isn't kept. Lasts until the next put. */
const char *mapped_paths__get(uint32_t pid, const struct file_number *number, uint64_t now_ns);

#endif
