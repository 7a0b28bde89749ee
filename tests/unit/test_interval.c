/* SPDX-License-Identifier: GPL-2.0 */
/* The open dispatches of an interval: which ones have room, and how many have none. */
#include "base/clock.h"
#include "session/interval.h"

#include "tests/tap.h"

#define MS NS_PER_MS

static void saw(struct intervals *iv, uint32_t pid, uint32_t tid, uint64_t open_ns)
{
	const struct jank_rec_thread rec = { .hdr = { .tgid = pid, .tid = tid },
					     .loop = JANK_LOOP_EPOLL,
					     .open_ns = open_ns };

	intervals__saw(iv, &rec, 100 * MS);
}

int main(void)
{
	struct intervals_now now = { .hists = hists__new() };
	struct interval interval;
	struct intervals iv = {};
	bool sorted = true, seen = false;

	intervals__open(&iv);
	intervals__begin_look(&iv);
	for (uint32_t i = 0; i < 150; i++)
		saw(&iv, 1, 1000 + i, (1000 + i) * MS);
	saw(&iv, 2, 2, 20 * MS);
	saw(&iv, 3, 3, 9 * MS);
	is_int(intervals__take(&iv, &now, &interval), 0, "an interval");
	is_uint(interval.open_cnt, 100, "it has so many open dispatches");
	is_uint(interval.facts.open_more, 51, "and the number of further ones");
	for (size_t i = 0; i < interval.open_cnt; i++) {
		seen |= interval.open[i].pid == 2;
		sorted &= !i || interval.open[i].duration_ns <= interval.open[i - 1].duration_ns;
	}
	ok(seen, "a process with much longer ones hides no other");
	ok(sorted && interval.open[0].duration_ns == 1149 * MS, "the longest is the first");
	interval__free(&interval);
	intervals__begin_look(&iv);
	saw(&iv, 2, 2, 20 * MS);
	intervals__take(&iv, &now, &interval);
	ok(interval.open_cnt == 1 && !interval.facts.open_more, "in the next one all have room");
	interval__free(&interval);
	intervals__close(&iv);
	hists__free(now.hists);
	return tap__done();
}
