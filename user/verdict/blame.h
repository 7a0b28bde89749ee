/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict: what took most of the dispatch's time, and which application function is
 * responsible.
 */
#ifndef JANK_VERDICT_BLAME_H
#define JANK_VERDICT_BLAME_H

#include "model/block.h"
#include "verdict/analysis.h"

/*
 * Fills block->cause and the part of stack_quality that needs names. Requires named frames. Out of
 * memory, it leaves out the summary or everything.
 */
void blame__block(struct block *block);

#endif
