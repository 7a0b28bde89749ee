/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follower of code paths, for code without a table and without frame pointers (musl, hand-written
 * assembly).
 * It follows the instructions from the current address to the return, which shows how far the
 * return address lies above the stack pointer. It also follows the code from the target of the
 * caller's call, which must give the same distance.
 */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_PATHS_H
#define JANK_SYMBOL_UNWIND_UNWIND_PATHS_H

#include "symbol/unwind/exit_paths.h"
#include "symbol/unwind/unwind_parts.h"

#define PATH_REGS	16
#define PATH_RESULT_MAX 4
#define PATH_RBP	5 /* in the numbering of x86 instructions */

/* State at an address on a path. */
struct path_state {
	uint64_t addr;
	struct path_slot sp; /* off is relative: PATH_SP: to the first sp; PATH_FP: to the fp */
	struct path_slot regs[PATH_REGS];
	/* where the path itself pushed the frame pointer; 0: it did not */
	int32_t pushed_fp;
};

struct paths {
	/* states at returns; distinct by sp */
	struct path_state results[PATH_RESULT_MAX];
	unsigned result_cnt;
	bool framed; /* HotSpot's interpreter: leave the frame by the frame pointer */
	/* the path reached the goal; met_sp is the offset of the stack pointer there */
	bool met;
	int32_t met_sp;
};

/*
 * Follows the code of a region from an address to its returns. When goal is not 0, stops when a
 * path reaches goal.
 */
void paths__follow(struct walk *w, const struct region *region, uint64_t from, uint64_t goal,
		   struct paths *ret);

/*
 * unwind_paths.c: runs one instruction. Returns false when the stack pointer is unknown after it.
 */
bool path_state__run(struct path_state *state, const uint8_t *code, uint32_t writes, bool is_call);

#endif
