/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that the broker opens for a traced process, and that the process could name or mount as
 * it likes. All return a descriptor, as the functions of openfile.h (file.h), or -errno; -EPERM: it
 * is not a file for this process. st: never NULL. Used on the broker's thread.
 */
#ifndef JANK_FILES_BROKER_FILE_H
#define JANK_FILES_BROKER_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* By a name in our root: what anybody may read. */
int broker_file__open(const char *path, struct stat *st);

/* By a name in the root of the process: what anybody or the process may read. */
int broker_file__open_in_root(uint32_t pid, const char *path, bool links, struct stat *st);

/* Behind a link of /proc: what the process has mapped or runs. */
int broker_file__follow(const char *path, struct stat *st);

#endif
