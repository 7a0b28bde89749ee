/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The very file that a process has mapped, not another file of the same name. */
#ifndef JANK_SYMBOL_ELF_MAPPED_FILE_H
#define JANK_SYMBOL_ELF_MAPPED_FILE_H

#include "symbol/names/proc_maps.h"
#include <sys/stat.h>

/*
 * Opens the file for reading; the process must still be alive. For a part of an archive it opens
 * the archive. pid: a thread of the process through which /proc shows its memory. Returns a
 * descriptor that the caller owns; -ESTALE: the name now belongs to another file; or -errno.
 */
int mapped_file__open(const char *proc, uint32_t pid, const struct mapped *mapped, struct stat *st);

/* The path by which that function looks first: a link to what is mapped there now. */
void mapped_file__link(const char *proc, uint32_t pid, const struct mapped *mapped, char *ret,
		       size_t size);

/*
 * Whether the file has the device and inode that maps shows. On some file systems (overlayfs) they
 * never match.
 */
bool mapped_file__is(const struct mapped *mapped, const struct stat *st);

/* --- libraries inside an archive (APK) that are mapped from there; each is a module of its own */

/*
 * Assigns regions mapped from an archive to the libraries inside it; their offsets then count from
 * the library's beginning. Parts known from the old maps are not searched again. A region outside
 * of all stored files, or of an unreadable archive, keeps the archive's name and offset.
 */
void archive__split(const char *proc, uint32_t pid, const struct proc_maps *old,
		    struct proc_maps *maps);

#endif
