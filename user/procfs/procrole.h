/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a process of a browser does, by its command line: Chromium, Electron and CEF name it (--type=renderer), Firefox, too
 * (-contentproc … tab).
 */
#ifndef JANK_PROCFS_PROCROLE_H
#define JANK_PROCFS_PROCROLE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the command line, which lies in the process's memory, apart: at most half a second, 4 KiB. *ret: the role, owned by the
 * caller; NULL: none, or it cannot be read. 0 or -ENOMEM. Any thread but the one that serves the ring.
 */
int procrole__read(pid_t pid, char **ret);

/* The same of words that each end in a zero byte (or in a blank: Chromium joins them). The text is changed. */
const char *procrole__parse(char *words, size_t len);

#endif
