/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict: what took most of the dispatch's time, and which application function is
 * responsible.
 */
#ifndef JANK_VERDICT_BLAME_H
#define JANK_VERDICT_BLAME_H

#include "model/block.h"

/*
 * Fills block->cause and the part of stack_quality that needs names. Requires named frames. Out of
 * memory, it leaves out the summary or everything.
 */
void blame__block(struct block *block);

/* --- Why a runnable thread did not run. */

struct runnable_share {
	const char *reason; /* a word of the list in sentence.h; NULL: not known */
	double ns;
};
#define RUNNABLE_SHARE_MAX 5

/*
 * Divides the block's runnable time into shares. Returns their number; the sum is the runnable
 * time.
 */
size_t runnable__divide(const struct block *block, struct runnable_share *ret);

/* The preemptors with one name. */
struct runners {
	const struct other_task *task; /* the one with the most time; NULL: none is known */
	uint64_t ns;		       /* sum over the name */
	size_t cnt;		       /* number of processes */
	size_t other_cnt;	       /* tasks of other names */
};

/* The name with the most time in total; better: only tasks of better priority. */
struct runners runnable__culprit(const struct block *block, bool better);

#endif
