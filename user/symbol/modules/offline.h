/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for what was recorded as build id and file offset, from files found by build id; without
 * the process.
 */
#ifndef JANK_SYMBOL_MODULES_OFFLINE_H
#define JANK_SYMBOL_MODULES_OFFLINE_H

#include "base/err.h"
#include "model/block.h"

#define OFFLINE_FRAMES_MAX 64 /* at one address */

struct offline;

/*
 * dirs: where to look, first to last, then in /usr/lib/debug: in DIR/.build-id, and for every ELF
 * file below DIR, also for libraries in its archives (APKs). They are read when they are first
 * needed. -ENOENT, … with a message: a directory that cannot be read.
 */
int offline__new(const char *const *dirs, size_t dir_cnt, struct offline **ret, struct err *err);
void offline__free(struct offline *offline); /* accepts NULL */

/*
 * Where a module of that build id was mapped, by its name in a record: one in an archive
 * ("/…/base.apk!/lib/…") is looked for there, too, if the archive is here. To be told before
 * anything is asked of the build id.
 */
void offline__archive(struct offline *offline, const char *build_id, const char *module);

/*
 * Why a library that was wanted could not be unpacked, the last such one; NULL: there was none.
 * Valid as long as `offline`.
 */
const char *offline__refused(const struct offline *offline);

/* Is there a file of that build id? */
bool offline__knows(struct offline *offline, const char *build_id);

/*
 * The functions at a file offset, innermost first, of which the last is not inlined; exact: the
 * processor stood there, else it is returned to. Their number, 0: it has no name. Strings live as
 * long as `offline`. app: that the last one's name is none of a runtime's.
 */
size_t offline__name(struct offline *offline, const char *build_id, uint64_t offset, bool exact,
		     struct frame frames[OFFLINE_FRAMES_MAX]);

#endif
