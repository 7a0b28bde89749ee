/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens for reading files whose path a traced program chose: regular files only. A FIFO, device or socket is refused
 * without being opened (-EINVAL), and a lease of another process is not waited for (-EWOULDBLOCK; the kernel ends the lease
 * after /proc/sys/fs/lease-break-time, so a later try succeeds). What lies on a file system that may never answer (apart.h)
 * comes as an O_PATH descriptor, to be read by image.h and looked at by apart__stat.
 * All return a descriptor or -errno. st: of the file, may be NULL. Any thread.
 */
#ifndef JANK_BASE_OPENFILE_H
#define JANK_BASE_OPENFILE_H

#include <sys/stat.h>

int openfile__path(const char *path, struct stat *st);

/* The same of a link of /proc's, that leads to the file itself. */
int openfile__link(const char *path, struct stat *st);

/* The same below a directory that is the root of another mount namespace (/proc/PID/root): no
 * link in the path leads out of it. */
int openfile__in_root(const char *root, const char *path, struct stat *st);

/* From an O_PATH descriptor, which it closes; never one for image.h: -EACCES where the file system may never answer. */
int openfile__handle(int handle, struct stat *st);

#endif
