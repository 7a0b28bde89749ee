/* SPDX-License-Identifier: GPL-2.0 */
/* Libraries that lie in an archive (an APK) and are mapped from there: each is a module of its own. */
#ifndef JANK_SYMBOL_ELF_ARCHIVE_H
#define JANK_SYMBOL_ELF_ARCHIVE_H

#include "symbol/names/proc_maps.h"

/*
 * Gives regions that are mapped from an archive to the libraries in it that they are of, their offsets counted from the
 * library's begin. What the process's maps before knew is not looked for again. A region of no stored file, or of an archive
 * that can't be read, keeps the archive's name and offset.
 */
void archive__split(const char *proc, uint32_t pid, const struct maps *old, struct maps *maps);

#endif
