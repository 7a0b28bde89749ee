/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rests that the probes counted as dispatches, because user space found out later: the same blocks
 * that are left out of the records are taken from the counts of intervals and of the summary. The
 * oldest of REST_MAX are forgotten. Used on the sink thread only.
 */
#ifndef JANK_SESSION_RESTS_H
#define JANK_SESSION_RESTS_H

#include "model/block.h"
#include <stddef.h>
#include <stdint.h>

#define REST_MAX 1024

/* A dispatch that was none. */
struct rest {
	uint32_t pid, loop;
	uint64_t duration_ns;
	uint32_t
		interval_cnt; /* intervals since; the count is in one of the first two, if at all */
};

/* All zero: empty. */
struct rests {
	struct rest *list; /* of REST_MAX; NULL: none yet */
	size_t cnt;	   /* ever added */
};

void rests__free(struct rests *rests); /* frees what it points to */

/* A block that is left out; nothing for a hang. 0 or -ENOMEM. */
int rests__add(struct rests *rests, const struct block *block);

/* Take them from the counts of their loops. */
void rests__set_interval(struct rests *rests, struct interval *interval);
void rests__set_summary(const struct rests *rests, struct summary *summary);

#endif
