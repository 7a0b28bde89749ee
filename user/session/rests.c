/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/rests.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * A dispatch is counted before its block is sent. The look at the counts for an interval lies
 * before or after the block's way to this thread.
 */
#define INTERVALS 2

void rests__free(struct rests *rests)
{
	free(rests->list);
	*rests = (struct rests){};
}

int rests__add(struct rests *rests, const struct block *block)
{
	if (block->type == BLOCK_HANG)
		return 0;
	if (!rests->list)
		rests->list = calloc(REST_MAX, sizeof(*rests->list));
	if (!rests->list)
		return -ENOMEM;
	rests->list[rests->cnt++ % REST_MAX] = (struct rest){
		.pid = block->pid,
		.loop = block->loop,
		.duration_ns = block->duration_ns,
	};
	return 0;
}

static bool take(const struct rest *rest, struct loop_hist *loops, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (loops[i].pid == rest->pid && loops[i].loop == rest->loop &&
		    durations__take_one(&loops[i].durations, rest->duration_ns)) {
			loops[i].dispatch_cnt--;
			return true;
		}
	return false;
}

static size_t listed(const struct rests *rests)
{
	return rests->cnt < REST_MAX ? rests->cnt : REST_MAX;
}

void rests__set_interval(struct rests *rests, struct interval *interval)
{
	for (size_t i = 0; i < listed(rests); i++) {
		struct rest *rest = &rests->list[i];

		if (rest->interval_cnt >= INTERVALS)
			continue;
		rest->interval_cnt++;
		if (take(rest, interval->loops, interval->loop_cnt))
			rest->interval_cnt = INTERVALS;
	}
}

void rests__set_summary(const struct rests *rests, struct summary *summary)
{
	for (size_t i = 0; i < listed(rests); i++)
		summary->dispatch_cnt -= take(&rests->list[i], summary->loops, summary->loop_cnt);
}
