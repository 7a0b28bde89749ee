/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths that the user names for our output. Another user must not choose where our records go, so a
 * symbolic link is followed only if no other user can have made it: its directory is private, or
 * has the sticky bit and the link belongs to us.
 *
 * "Us" is root, the effective user, and as root the user of sudo (SUDO_UID), who may become root.
 */
#ifndef JANK_FILES_OWN_PATH_H
#define JANK_FILES_OWN_PATH_H

#include "base/err.h"
#include <stdbool.h>
#include <sys/stat.h>

/* True if only we can write to it: the owner is one of us, and group and others may not write. */
bool own_path__is_private(const struct stat *st);

/*
 * Opens a directory for reading; creates missing ones with `mode`, as mkdir -p does. Returns a
 * descriptor, or -errno with a message: also -EPERM if others can write to the directory itself,
 * -ELOOP for a link that is not followed. err may be NULL. Any thread.
 */
int own_path__dir(const char *path, mode_t mode, struct err *err);

/* Returns -EACCES, with a message about a directory whose owner does not let us in. */
int own_path__refuse(const char *path, uid_t owner, struct err *err);

/*
 * Opens the directory of a file with O_PATH; creates nothing. Sets *ret_name to the file's name
 * within `path`. Returns and errors as own_path__dir, but a directory that others can write to is
 * accepted: the caller checks the file.
 */
int own_path__parent(const char *path, const char **ret_name, struct err *err);

#endif
