/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict: what took the most of the dispatch, and the application's function most to blame. */
#ifndef JANK_VERDICT_BLAME_H
#define JANK_VERDICT_BLAME_H

#include "model/block.h"
#include "verdict/analysis.h"

/*
 * Fills block->cause and the part of stack_quality that needs names. Frames must be named before.
 * Out of memory it fills less: no summary, or nothing.
 */
void blame__block(struct block *block);

#endif
