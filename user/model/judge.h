/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judge turns a dispatch into a block, or finds that it is none. */
#ifndef JANK_MODEL_JUDGE_H
#define JANK_MODEL_JUDGE_H

#include "model/block.h"
#include "model/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct judge {
	uint64_t threshold_ns;
	uint64_t hang_ns; /* 0: none */
	unsigned fps;
	bool debugging;		      /* report blocks that were mostly stopped, too */
	const struct host_info *host; /* borrowed; strings are copied into each block */
	int64_t real_offset_ns;
	uint64_t stopped_cnt; /* blocks that were mostly stopped, and so none */
};

/*
 * Takes the evidence out of the dispatch (which stays the caller's to free). 1: *ret is a block; 0:
 * it is none (not over this threshold, or stopped by a debugger); -ENOMEM. process may be NULL:
 * unknown.
 */
int judge__dispatch(struct judge *judge, struct dispatch *dispatch, const struct identity *process,
		    const struct machine_load *load, struct block **ret);

#endif
