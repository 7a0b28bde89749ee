/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client of the debuginfod servers in DEBUGINFOD_URLS: libdebuginfod, loaded when it is first
 * needed. Files land in the library's cache. A file has at most 512 MiB and takes at most 60 s,
 * unless DEBUGINFOD_MAXSIZE and DEBUGINFOD_MAXTIME say otherwise. One thread at a time.
 */
#ifndef JANK_SYMBOL_MODULES_DEBUGINFOD_H
#define JANK_SYMBOL_MODULES_DEBUGINFOD_H

#include "base/err.h"
#include <stdbool.h>

struct debuginfod;

/* True if DEBUGINFOD_URLS names a server. */
bool debuginfod__is_wanted(void);

/*
 * stopped: asked during a download, which it ends by returning true. NULL with a message: no
 * library; NULL without: out of memory.
 */
struct debuginfod *debuginfod__new(bool (*stopped)(void *ctx), void *ctx, struct err *err);
void debuginfod__free(struct debuginfod *d); /* accepts NULL */

/*
 * Waits for the debug file of a build id (hexadecimal). Returns a descriptor that the caller owns,
 * or -errno: -ENOENT no server has it; -EFBIG, -ETIME a limit; -EACCES the cache cannot be written.
 */
int debuginfod__get(struct debuginfod *d, const char *build_id);

#endif
