/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small file helpers. All return 0 or -errno and retry on EINTR. */
#ifndef JANK_BASE_FILE_H
#define JANK_BASE_FILE_H

#include "base/strbuf.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

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

/* mkdir -p. Only directories created here get `mode`; existing directories are accepted. */
int file__mkdirs(const char *path, mode_t mode);

/*
 * Opens files for reading at a path that a traced program chose: regular files only. A FIFO, device
 * or socket is refused without being opened (-EINVAL). A lease of another process is not waited for
 * (-EWOULDBLOCK; the kernel ends the lease after /proc/sys/fs/lease-break-time, so a later try
 * succeeds). A file on a file system that may never answer (apart.h) is returned as an O_PATH
 * descriptor: read it with image.h, stat it with apart__stat. All return a descriptor or -errno.
 * st: of the file, may be NULL. Any thread.
 */

int openfile__path(const char *path, struct stat *st);

/* Like openfile__path, for a link of /proc that leads to the file itself. */
int openfile__link(const char *path, struct stat *st);

/*
 * Like openfile__path, below a directory that is the root of another mount namespace
 * (/proc/PID/root). No link in the path leads out of it.
 */
int openfile__in_root(const char *root, const char *path, struct stat *st);

/*
 * Opens the file behind an O_PATH descriptor, and closes that descriptor. Never returns an O_PATH
 * descriptor: -EACCES where the file system may never answer.
 */
int openfile__handle(int handle, struct stat *st);

#endif
