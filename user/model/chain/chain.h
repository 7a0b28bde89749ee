/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of wakers: the thread that a dispatch waited for, the thread that this one waited for,
 * and so on. It ends after CHAIN_MAX links or when no further wait can be explained.
 */
#ifndef JANK_MODEL_CHAIN_CHAIN_H
#define JANK_MODEL_CHAIN_CHAIN_H

#include "model/block.h"
#include "model/chain/thread_history.h"
#include <stddef.h>
#include <stdint.h>

struct chain {
	struct link *links; /* NULL: no wait of the dispatch can be explained */
	size_t cnt;
	size_t sample; /* the explained wait: index into the samples */
};

/* Input: the samples of a thread's dispatch. */
struct chain_ask {
	const struct sample *samples;
	size_t cnt;
	uint32_t tgid, tid;
	uint64_t min_ns; /* ignore states whose waits take less in total */
};

/*
 * Explains one wait: among waits that another thread may have caused, the longest one of the state
 * with the most time. 0 or -ENOMEM; the caller owns the links in both cases.
 */
int chain__build(const struct thread_history *others, const struct chain_ask *ask,
		 struct chain *ret);
void chain__clear(struct chain *chain); /* frees the links */

/*
 * Sets the ids and names of lock holders from the owners of the wait objects, when those are known.
 * Cuts the chain before a holder that is not a thread.
 */
void chain__resolve_owners(struct block *block);

#endif
