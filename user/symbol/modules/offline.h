/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbolizer for recorded pairs of build id and file offset. It finds files by build id and needs
 * no process.
 */
#ifndef JANK_SYMBOL_MODULES_OFFLINE_H
#define JANK_SYMBOL_MODULES_OFFLINE_H

#include "base/err.h"
#include "model/block.h"

#define OFFLINE_FRAMES_MAX 64 /* inlined functions and the function itself, at one address */

struct offline;

/*
 * Searches dirs, first to last, then /usr/lib/debug: DIR/.build-id, every ELF file below DIR, and
 * the libraries in its archives (APKs). Directories are read on first use. Returns 0 or -errno with
 * a message (-ENOENT, …: a directory cannot be read).
 */
int offline__new(const char *const *dirs, size_t dir_cnt, struct offline **ret, struct err *err);
void offline__free(struct offline *offline); /* accepts NULL */

/*
 * Reports the path at which a record says that a module with this build id was mapped. For one in
 * an archive ("/…/base.apk!/lib/…"), that archive is searched too if it exists here. Call it before
 * any other query for the build id.
 */
void offline__archive(struct offline *offline, const char *build_id, const char *module);

/*
 * Why the last needed library could not be unpacked; NULL: there was no such case. Valid as long as
 * `offline`.
 */
const char *offline__refused(const struct offline *offline);

/* Is there a file with that build id? */
bool offline__knows(struct offline *offline, const char *build_id);

/*
 * The functions at a file offset, innermost first; all but the last are inlined. exact: offset is
 * where the processor was; otherwise it is a return address. Strings live as long as `offline`.
 * frame.app: the last one's name is not of a runtime. Returns the number; 0: no symbol.
 */
size_t offline__name(struct offline *offline, const char *build_id, uint64_t offset, bool exact,
		     struct frame frames[OFFLINE_FRAMES_MAX]);

#endif
