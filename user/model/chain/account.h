/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time account of a thread over an interval, from its records. */
#ifndef JANK_MODEL_CHAIN_ACCOUNT_H
#define JANK_MODEL_CHAIN_ACCOUNT_H

#include "model/chain/thread_history.h"
#include <stdbool.h>
#include <stdint.h>

struct account {
	uint64_t part_ns[JANK_STATE_CNT]; /* ns; the sum is at most the interval's length */
	uint32_t state;			  /* the largest part; JANK_STATE_CNT: nothing was seen */
	uint16_t prio;			  /* the last known; 0: none */
	const struct other_record *span;  /* longest span of that state; NULL: none, or running */
	uint64_t span_begin, span_end;	  /* the counted part of it */
	const struct other_record *tick;  /* most frequent sampled stack; NULL: none */
};

struct account_ask {
	uint32_t tgid, tid;
	uint64_t begin, end;
	bool ran_last; /* it certainly ran at the end */
};

/* The records are borrowed from others. 0 or -ENOMEM. */
int account__of(const struct thread_history *others, const struct account_ask *ask,
		struct account *ret);

#endif
