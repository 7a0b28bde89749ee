/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files: small helpers, opening at an untrusted path, and images. Functions return 0 or -errno and
 * retry on EINTR, unless they say otherwise.
 */
#ifndef JANK_FILES_FILE_H
#define JANK_FILES_FILE_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens a file of /proc or /sys, or of our own, for reading; without waiting if it is a FIFO. In
 * the process that makes names the broker does it (broker.h). A descriptor or -errno.
 */
int file__open_own(const char *path);

/* Appends a file's content, at most max bytes (-EFBIG: the file is longer). Works on /proc. */
int file__read(const char *path, size_t max, struct strbuf *sb);
int file__read_at(int dirfd, const char *path, size_t max, struct strbuf *sb);

/*
 * Like pread. Also reads O_PATH descriptors that the openfile functions returned, through the
 * helper process (apart.h). Returns up to len bytes, 0 at the end, or -errno; never -EINTR.
 */
ssize_t file__pread(int fd, void *to, size_t len, uint64_t offset);

/*
 * Reads exactly len bytes from offset on. -ENOEXEC: the file ends earlier, so its headers are
 * wrong.
 */
int file__read_exactly(int fd, void *to, size_t len, uint64_t offset);

/* Writes all bytes or returns -errno; on failure a part may be written. */
int file__write_all(int fd, const void *data, size_t len);

/*
 * --- openfile.c: opens files for reading at a path that a traced program chose: regular files
 * only. A FIFO, device or socket is refused without being opened (-EINVAL). A lease of another
 * process is not waited for (-EWOULDBLOCK; the kernel ends the lease after
 * /proc/sys/fs/lease-break-time, so a later try succeeds). A file on a file system that may never
 * answer (apart.h) is returned as an O_PATH descriptor: read it with image__read, stat it with
 * apart__stat. All return a descriptor or -errno. st: of the file, may be NULL. Any thread.
 */

int openfile__path(const char *path, struct stat *st);

/* Like openfile__path, for a link of /proc that leads to the file itself. */
int openfile__link(const char *path, struct stat *st);

/*
 * Like openfile__path, below a directory that is the root of another mount namespace
 * (/proc/PID/root). No link in the path leads out of it.
 */
int openfile__in_root(const char *root, const char *path, struct stat *st);

/* Like openfile__in_root. -ELOOP: a part of the path is a symbolic link. */
int openfile__in_root_no_links(const char *root, const char *path, struct stat *st);

/*
 * Opens the file behind an O_PATH descriptor, and closes that descriptor. Never returns an O_PATH
 * descriptor: -EACCES where the file system may never answer.
 */
int openfile__handle(int handle, struct stat *st);

/*
 * True if the file system answers without a daemon or server: it is on a block device, or it is
 * mounted in our own namespace and has a local type. Files of other file systems stay O_PATH
 * descriptors, which image__read reads through the helper process.
 */
bool openfile__trusts(dev_t dev);

/*
 * --- images: the bytes of a file that may be hostile: a descriptor, or memory
 *
 * Files are read with pread and not mapped (but those of symbol/dwarf/dwarf_file.c). Their owner
 * may truncate them at any time, and an access to a mapping would then kill us with SIGBUS. pread
 * also keeps them out of our resident memory.
 */

struct image {
	int fd;		 /* borrowed; -1: in memory */
	const void *mem; /* borrowed */
	uint64_t begin;	 /* position of offset 0 in the file */
	uint64_t size;
};

/* A part of a file: a library inside an archive; size 0: the whole file. */
struct image_part {
	uint64_t begin, size;
};

/* The image of an open regular file. Returns 0, -errno of fstat, or -EINVAL for another type. */
int image__of_fd(struct image *img, int fd);

/*
 * The image of a part of a file, cut at the end of the file. -ENODATA: the file ends before the
 * part begins.
 */
int image__of_part(struct image *img, int fd, struct image_part part);

void image__of_mem(struct image *img, const void *mem, size_t size);

/* Time of the last write to the file, in ns of its file system's clock; 0: unknown. */
uint64_t image__written_ns(int fd);

/* Whether [off, off + len) lies inside. */
bool image__holds(const struct image *img, uint64_t off, uint64_t len);

/* Reads exactly len bytes. Returns 0, -ENODATA when the image ends earlier, or -errno. */
int image__read(const struct image *img, uint64_t off, void *buf, size_t len);

#endif
