/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JANK_FILES_LONE_UID_H
#define JANK_FILES_LONE_UID_H

#include <sys/types.h>

#define UID_NOBODY 65534

/* A range of numbers; both ends belong to it. */
struct uid_range {
	uid_t first, last;
};

/*
 * The range to search, of the numbers that a user namespace maps. map: text of /proc/self/uid_map.
 * last < first: there is none.
 */
struct uid_range lone_uid__range(const char *map);

/*
 * A user id that no process and no account of /etc/passwd has, so that no other user's process may
 * end, stop or slow a process with it. It is drawn anew at each call. UID_NOBODY: there is none,
 * as in a user namespace with few ids. Opens files: not for a process that may open none.
 */
uid_t lone_uid__find(void);

#endif
