/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a thread did over an interval, as far as its records tell. */
#ifndef JANK_MODEL_CHAIN_ACCOUNT_H
#define JANK_MODEL_CHAIN_ACCOUNT_H

#include "model/chain/thread_history.h"
#include <stdbool.h>
#include <stdint.h>

struct account {
	uint64_t part_ns[JANK_STATE_CNT]; /* sum to the interval's length at most */
	uint32_t state;			  /* the largest part; JANK_STATE_CNT: nothing was seen */
	uint16_t prio;			  /* the last that was told; 0: none */
	const struct other_record *span;  /* of that state the longest; NULL: none, or running */
	uint64_t span_begin, span_end;	  /* what of it counts */
	const struct other_record *tick;  /* of the stack that was sampled most often; NULL: none */
};

struct account_ask {
	uint32_t tgid, tid;
	uint64_t begin, end;
	bool ran_last; /* it is known to have run at the end */
};

/* The records are borrowed from others. 0 or -ENOMEM. */
int account__of(const struct thread_history *others, const struct account_ask *ask,
		struct account *ret);

#endif
