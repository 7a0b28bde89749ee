/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block with what its samples tell, as the parts of the verdict are made of it. Inside of the
 * model only.
 */
#ifndef JANK_VERDICT_ANALYSIS_H
#define JANK_VERDICT_ANALYSIS_H

#include "model/block.h"

struct analysis {
	struct block *block;
	const char **what; /* of each sample, of its own state; NULL: not known */
	int *part;	   /* of each sample, into cause.parts; -1: of none */
};

/* What each sample was at. 0 or -ENOMEM. Borrows the block; freed by analysis__free. */
int analysis__read(struct analysis *proof, struct block *block);
void analysis__free(struct analysis *proof);

/* The state whose time the part is made of: JANK_STATE_*. */
uint32_t part__state(const struct cause_part *part);

/*
 * How much of a part sample i answers for: ns of a span, 1 for a tick, 0 for none. Waits after a
 * wake-up are the runnable parts', whatever the span's own state.
 */
uint64_t analysis__weight(const struct analysis *proof, size_t i, size_t part);

/*
 * The sample that answers for the most of a part, of those in its frame when that is filled; of
 * equals the first; NULL: none does.
 */
const struct sample *analysis__main_sample(const struct analysis *proof, size_t part);

/* Whether the chain is of a wait of this part. */
bool analysis__has_chain(const struct analysis *proof, size_t part);

/*
 * The last of that chain of which something was seen, else its last; NULL: the part has no chain.
 */
const struct link *analysis__chain_end(const struct analysis *proof, size_t part);

/*
 * The parts of the verdict: which states, and which faults in them, took a tenth of the time or
 * more.
 */

/*
 * Fills cause.parts but for their frames, and the samples' parts. There is one part at least, that
 * of the largest state. What is less than a tenth counts with the largest part of its state.
 */
void breakdown__divide(struct analysis *proof);

#endif
