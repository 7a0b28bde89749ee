/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judge: turns a dispatch into a block if it exceeds the threshold. */
#ifndef JANK_MODEL_JUDGE_H
#define JANK_MODEL_JUDGE_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include "model/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct judge {
	uint64_t threshold_ns;
	uint64_t hang_ns; /* 0: none */
	unsigned fps;
	bool debugging;		      /* also report blocks that were stopped most of the time */
	const struct host_info *host; /* borrowed; the strings are copied into each block */
	int64_t real_offset_ns;
	uint64_t stopped_cnt; /* blocks not reported because they were mostly stopped */
};

/*
 * Moves the evidence out of the dispatch; the caller still frees the dispatch. 1: *ret is a block.
 * 0: no block (within the threshold, or stopped by a debugger). Or -ENOMEM. process may be NULL:
 * unknown.
 */
int judge__dispatch(struct judge *judge, struct dispatch *dispatch, const struct identity *process,
		    const struct machine_load *load, struct block **ret);

/*
 * --- Frames of a display that passed in an interval, from the refreshes (vblanks) that the kernel
 * counted. Between two reported refreshes, the difference of their sequence numbers is exact: the
 * kernel turns the interrupt off while no program requests frames. After the last report nothing is
 * known, so the result is a lower bound.
 */

/*
 * Adds one display. *ret is zeroed by the caller before the first call; it keeps the display with
 * the most missed frames. The interval excludes start_ns and includes end_ns.
 */
void display_frames__add(struct missed_frames *ret, uint32_t crtc,
			 const struct jank_vblanks *vblanks, uint64_t start_ns, uint64_t end_ns);

#endif
