/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small file helpers. All return 0 or -errno; EINTR is retried. */
#ifndef JANK_BASE_FILE_H
#define JANK_BASE_FILE_H

#include "base/strbuf.h"
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Appends a file's content, at most max bytes (-EFBIG beyond). Works on /proc. */
int file__read(const char *path, size_t max, struct strbuf *sb);
int file__read_at(int dirfd, const char *path, size_t max, struct strbuf *sb);

/*
 * As pread, also of an O_PATH descriptor that file.h gave, which is read apart. Up to len bytes, 0
 * at the end, or -errno; never -EINTR.
 */
ssize_t file__pread(int fd, void *to, size_t len, uint64_t offset);

/* Exactly len bytes from offset on; -ENOEXEC: the file ends before,
 * as none does that holds what its headers say. */
int file__read_exactly(int fd, void *to, size_t len, uint64_t offset);

/* All of it or -errno: on failure a part may be written. */
int file__write_all(int fd, const void *data, size_t len);

/* mkdir -p; only directories made here get `mode`. An existing one is fine. */
int file__mkdirs(const char *path, mode_t mode);

/*
 * Opens for reading files whose path a traced program chose: regular files only. A FIFO, device or
 * socket is refused without being opened (-EINVAL), and a lease of another process is not waited
 * for (-EWOULDBLOCK; the kernel ends the lease after /proc/sys/fs/lease-break-time, so a later try
 * succeeds). What lies on a file system that may never answer (apart.h) comes as an O_PATH
 * descriptor, to be read by image.h and looked at by apart__stat. All return a descriptor or
 * -errno. st: of the file, may be NULL. Any thread.
 */

int openfile__path(const char *path, struct stat *st);

/* The same of a link of /proc's, that leads to the file itself. */
int openfile__link(const char *path, struct stat *st);

/* The same below a directory that is the root of another mount namespace (/proc/PID/root): no
 * link in the path leads out of it. */
int openfile__in_root(const char *root, const char *path, struct stat *st);

/*
 * From an O_PATH descriptor, which it closes; never one for image.h: -EACCES where the file system
 * may never answer.
 */
int openfile__handle(int handle, struct stat *st);

#endif
