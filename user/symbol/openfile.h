/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Opens files that somebody else chose the path of: only regular ones, and without ever opening a
 * FIFO or a device to find that out.
 */
#ifndef JANK_SYMBOL_OPENFILE_H
#define JANK_SYMBOL_OPENFILE_H

#include <sys/stat.h>

/* A file for reading; -errno, -EINVAL when it is no regular file. st may be NULL. */
int openfile__path(const char *path, struct stat *st);

/* The same below a directory that is the root of another mount namespace (/proc/PID/root): no
 * link in the path leads out of it. */
int openfile__in_root(const char *root, const char *path, struct stat *st);

#endif
