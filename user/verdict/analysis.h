/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block with the analysis of its samples, the input for the parts of the verdict. Internal to
 * user/verdict/.
 */
#ifndef JANK_VERDICT_ANALYSIS_H
#define JANK_VERDICT_ANALYSIS_H

#include "model/block.h"

struct analysis {
	struct block *block;
	const char **what; /* per sample: the reason in its own state; NULL: not known */
	int *part;	   /* per sample: index into cause.parts; -1: none */
};

/*
 * Determines the reason of each sample. 0 or -ENOMEM. Borrows the block; freed by analysis__free.
 */
int analysis__read(struct analysis *proof, struct block *block);
void analysis__free(struct analysis *proof);

/* The state of the part's time: JANK_STATE_*. */
uint32_t part__state(const struct cause_part *part);

/*
 * The weight of sample i in a part: ns of a span, 1 for a tick, 0 if not in the part. Time after a
 * wake-up belongs to the runnable part, whatever the state of the span.
 */
uint64_t analysis__weight(const struct analysis *proof, size_t i, size_t part);

/*
 * The sample with the most weight in a part; if the part has a frame, only samples in that frame.
 * The first of equals; NULL: none.
 */
const struct sample *analysis__main_sample(const struct analysis *proof, size_t part);

/* True if the chain explains a wait of this part. */
bool analysis__has_chain(const struct analysis *proof, size_t part);

/*
 * The last link of that chain with a known state, else the last link; NULL: the part has no chain.
 */
const struct link *analysis__chain_end(const struct analysis *proof, size_t part);

/*
 * --- The parts of the verdict are the states, and the reasons in them, that took at least a tenth
 * of the time.
 */

/*
 * Fills cause.parts, except their frames, and the part of each sample. There is always at least one
 * part, of the largest state. Groups of less than a tenth count for the largest part of their
 * state.
 */
void breakdown__divide(struct analysis *proof);

#endif
