/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens for reading files whose path a traced program chose: regular files only. A FIFO, device or socket is refused
 * without being opened (-EINVAL), and a lease of another process is not waited for (-EWOULDBLOCK; the kernel ends the lease
 * after /proc/sys/fs/lease-break-time, so a later try succeeds). A file system may still block: FUSE and network ones.
 * All return a descriptor or -errno. st: of the file, may be NULL. Any thread.
 */
#ifndef JANK_OPENFILE_H
#define JANK_OPENFILE_H

#include <sys/stat.h>

int openfile__path(const char *path, struct stat *st);

/* The same below a directory that is the root of another mount namespace (/proc/PID/root): no
 * link in the path leads out of it. */
int openfile__in_root(const char *root, const char *path, struct stat *st);

/* From a descriptor of O_PATH, which it closes. */
int openfile__handle(int handle, struct stat *st);

#endif
