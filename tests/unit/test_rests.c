/* SPDX-License-Identifier: GPL-2.0 */
/* Rests that were counted as dispatches are taken from the counts of intervals and the summary. */
#include "session/rests.h"

#include "base/clock.h"
#include "tests/tap.h"

#define REST_NS (17 * NS_PER_SEC)

static void add(struct rests *rests, enum block_type type, uint32_t loop)
{
	const struct block block = { .type = type, .pid = 7, .loop = loop, .duration_ns = REST_NS };

	is_int(rests__add(rests, &block), 0, "a rest");
}

static struct loop_hist loop_of(uint32_t loop, uint64_t rest_cnt)
{
	struct loop_hist ret = { .pid = 7, .loop = loop, .dispatch_cnt = 10 + rest_cnt };

	ret.durations.edge_ns = 100 * NS_PER_MS;
	durations__add_many(&ret.durations, NS_PER_MS, 10);
	for (uint64_t i = 0; i < rest_cnt; i++)
		durations__add_one(&ret.durations, REST_NS);
	ret.durations.over_cnt = rest_cnt;
	return ret;
}

static bool is_clean(const struct loop_hist *loop)
{
	return loop->dispatch_cnt == 10 && loop->durations.total == 10 &&
	       loop->durations.max_ns < 2 * NS_PER_MS;
}

int main(void)
{
	struct loop_hist now[] = { loop_of(1, 1), loop_of(2, 1) }, next = loop_of(2, 1),
			 later = loop_of(2, 1), all[] = { loop_of(1, 1), loop_of(2, 2) };
	struct interval interval = { .loops = now, .loop_cnt = 2 };
	struct summary summary = { .loops = all, .loop_cnt = 2, .dispatch_cnt = 23 };
	struct rests rests = {};

	rests__set_interval(&rests, &interval);
	is_uint(now[0].dispatch_cnt, 11, "without a rest nothing changes");
	add(&rests, BLOCK_JANK, 1);
	add(&rests, BLOCK_HANG, 2); /* no dispatch has ended */
	rests__set_interval(&rests, &interval);
	ok(is_clean(&now[0]), "the rest is taken from its loop");
	is_uint(now[1].dispatch_cnt, 11, "and from no other one");
	add(&rests, BLOCK_JANK, 2);
	interval = (struct interval){};
	rests__set_interval(&rests, &interval);
	interval = (struct interval){ .loops = &next, .loop_cnt = 1 };
	rests__set_interval(&rests, &interval);
	ok(is_clean(&next), "its count may come in the next interval");
	interval.loops = &later;
	rests__set_interval(&rests, &interval);
	is_uint(later.dispatch_cnt, 11, "it is taken once");
	rests__set_summary(&rests, &summary);
	ok(is_clean(&all[0]), "the summary lacks all");
	is_uint(all[1].dispatch_cnt, 11, "but what was a dispatch");
	is_uint(summary.dispatch_cnt, 21, "in its sum, too");
	rests__free(&rests);
	return tap__done();
}
