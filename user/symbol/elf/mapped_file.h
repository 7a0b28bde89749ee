/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that a process has mapped, not just one of its name. */
#ifndef JANK_SYMBOL_ELF_MAPPED_FILE_H
#define JANK_SYMBOL_ELF_MAPPED_FILE_H

#include "symbol/names/proc_maps.h"
#include <sys/stat.h>

/*
 * Opens it for reading, while the process lives (pid: a thread of it by which /proc tells of its
 * memory). Of a part of an archive, the archive. A descriptor that is the caller's; -ESTALE:
 * another file has its name by now; or -errno.
 */
int mapped_file__open(const char *proc, uint32_t pid, const struct mapped *mapped, struct stat *st);

/* Whether a file has the number that maps gave it; of some file systems none has (overlayfs). */
bool mapped_file__is(const struct mapped *mapped, const struct stat *st);

/*
 * Libraries that lie in an archive (an APK) and are mapped from there: each is a module of its own.
 */

/*
 * Gives regions that are mapped from an archive to the libraries in it that they are of, their
 * offsets counted from the library's begin. What the process's maps before knew is not looked for
 * again. A region of no stored file, or of an archive that can't be read, keeps the archive's name
 * and offset.
 */
void archive__split(const char *proc, uint32_t pid, const struct proc_maps *old,
		    struct proc_maps *maps);

#endif
