/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of wakers: for whom a dispatch waited, and for whom that one did, to the end or to
 * CHAIN_MAX links.
 */
#ifndef JANK_MODEL_CHAIN_CHAIN_H
#define JANK_MODEL_CHAIN_CHAIN_H

#include "model/block.h"
#include "model/chain/thread_history.h"
#include <stddef.h>
#include <stdint.h>

struct chain {
	struct link *links; /* NULL: none of its waits can be explained */
	size_t cnt;
	size_t sample; /* the wait that is: index into the samples */
};

/* What is to be explained: the samples of a thread's dispatch. */
struct chain_ask {
	const struct sample *samples;
	size_t cnt;
	uint32_t tgid, tid;
	uint64_t min_ns; /* what took less, all waits of a kind together, is not worth it */
};

/*
 * Explains the longest wait of the kind that took most of what somebody may have to answer for. 0
 * or -ENOMEM; the links are the caller's either way.
 */
int chain__build(const struct thread_history *others, const struct chain_ask *ask,
		 struct chain *ret);
void chain__clear(struct chain *chain); /* frees the links */

/*
 * Holders get the ids and names that the waits' owners have by now; a chain ends before one that is
 * no thread.
 */
void chain__resolve_owners(struct block *block);

#endif
