/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened in the last minutes, in cells of one interval each. Cell 0 is the interval that has
 * not ended, 1 the one before it. One thread at a time.
 */
#ifndef JANK_EXPORT_TOP_STALLS_H
#define JANK_EXPORT_TOP_STALLS_H

#include "export/text/text.h"
#include <stdint.h>

#define STALLS_CELLS 301 /* five minutes of seconds, and cell 0 */

struct stalls {
	uint32_t blocks[STALLS_CELLS];
	uint64_t stalled_ns[STALLS_CELLS];
	unsigned at; /* place of cell 0 */
};

/* Time of the cells: cell 0 begins at end_ns, each has cell_ns. */
struct stalls_clock {
	uint64_t end_ns, cell_ns;
	unsigned cnt; /* of ended cells since the start, at most STALLS_CELLS - 1 */
};

void stalls__shift(struct stalls *h); /* cell 0 ends */

/* A block from start_ns on: counts where it ended, stalled where it lasted. */
void stalls__add(struct stalls *h, const struct stalls_clock *clock, uint64_t start_ns,
		 uint64_t ns);

/* Sums of the last `cells` ended cells, at most clock->cnt. */
uint64_t stalls__blocks(const struct stalls *h, const struct stalls_clock *clock, unsigned cells);
uint64_t stalls__stalled_ns(const struct stalls *h, const struct stalls_clock *clock,
			    unsigned cells);

/*
 * Adds width columns, the newest on the right: the height is the part of the time that was stalled.
 * A stall of any length is visible.
 */
void stalls__put(struct text *t, enum style style, const struct stalls *h,
		 const struct stalls_clock *clock, unsigned width);

#endif
