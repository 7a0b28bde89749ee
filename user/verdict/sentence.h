/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verdict in plain English, for an engineer to act on: "main thread waited 150 ms in handle_query for a mutex held
 * by thread 'indexer' (tid 4711), which waited for the disk in fsync ← flush_index".
 */
#ifndef JANK_VERDICT_SENTENCE_H
#define JANK_VERDICT_SENTENCE_H

#include "verdict/proof.h"

/* Of the verdict's parts, which exist. Owned by the caller; NULL: out of memory. */
char *sentence__make(const struct proof *proof);

#endif
