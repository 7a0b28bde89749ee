/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code without a table and without frame pointers (musl, hand-written assembly): its instructions
 * are followed from where it is to where it returns, which says how far above the stack pointer the
 * return address lies; and from where its caller's call leads to, which must say the same.
 */
#ifndef JANK_SYMBOL_UNWIND_UNWIND_PATHS_H
#define JANK_SYMBOL_UNWIND_UNWIND_PATHS_H

#include "symbol/unwind/exit_paths.h"
#include "symbol/unwind/unwind_parts.h"

#define PATH_REGS	16
#define PATH_RESULT_MAX 4
#define PATH_RBP	5 /* in the instructions' numbering */

/* At a place on a path. */
struct path_state {
	uint64_t addr;
	struct path_slot sp; /* PATH_SP: moved by off; PATH_FP: the frame pointer + off */
	struct path_slot regs[PATH_REGS];
	int32_t pushed_fp; /* where the path itself has put the frame pointer; 0: nowhere */
};

struct paths {
	struct path_state results[PATH_RESULT_MAX]; /* as it returns; distinct by sp */
	unsigned result_cnt;
	bool framed; /* of HotSpot's interpreter: the frame is left by the frame pointer */
	bool met;    /* the goal was reached, with its stack pointer moved by: */
	int32_t met_sp;
};

/*
 * Follows the code of a region from an address on, to its returns, or (goal not 0) until it comes
 * to the goal.
 */
void paths__follow(struct walk *w, const struct region *region, uint64_t from, uint64_t goal,
		   struct paths *ret);

/* One instruction (unwind_paths.c): false: the stack pointer is not known behind it. */
bool path_state__run(struct path_state *state, const uint8_t *code, uint32_t writes, bool is_call);

#endif
