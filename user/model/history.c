/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows are sums of times that a record may make up: no sum overflows. */
#include "model/history.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- windows */

struct history_window history_window__of(uint64_t block_ns, uint64_t block_end_ns,
					 uint64_t before_ns, uint64_t start_ns)
{
	struct history_window ret = {
		.begin_ns = later(block_ns > before_ns ? block_ns - before_ns : 0, start_ns),
		.end_ns = later(sum(block_end_ns, HISTORY_AFTER_NS), start_ns),
	};

	ret.last_ns = sum(ret.end_ns, before_ns / 2);
	return ret;
}

bool history_window__join(struct history_window *window, const struct history_window *other)
{
	if (other->begin_ns > window->end_ns || other->end_ns < window->begin_ns ||
	    other->end_ns > window->last_ns)
		return false;
	if (other->begin_ns < window->begin_ns)
		window->begin_ns = other->begin_ns;
	window->end_ns = later(window->end_ns, other->end_ns);
	return true;
}

/* --- gaps */

static int add_gap(struct history_cpu *cpu, const struct history_window *window, uint64_t begin_ns,
		   uint64_t end_ns)
{
	struct history_gap *gaps;

	begin_ns = later(begin_ns, window->begin_ns);
	end_ns = end_ns < window->end_ns ? end_ns : window->end_ns;
	if (begin_ns >= end_ns)
		return 0;
	if (!(cpu->gap_cnt & (cpu->gap_cnt - 1))) { /* full: its room is a power of two */
		gaps = reallocarray(cpu->gaps, cpu->gap_cnt ? 2 * cpu->gap_cnt : 1, sizeof(*gaps));
		if (!gaps)
			return -ENOMEM;
		cpu->gaps = gaps;
	}
	cpu->gaps[cpu->gap_cnt++] = (struct history_gap){ begin_ns, end_ns };
	return 0;
}

/*
 * A thread runs from the switch to it until the next one. If that is not from this thread, a switch
 * between them is missing. Before the first switch nothing is known.
 */
int history_cpu__find_gaps(struct history_cpu *cpu, const struct history_window *window)
{
	const struct jank_history_entry *last = NULL;
	int res = 0;

	for (size_t i = 0; i < cpu->cnt && !res; i++) {
		const struct jank_history_entry *entry = &cpu->entries[i];

		if ((entry->kind & JANK_HISTORY_KIND) != JANK_HISTORY_SWITCH)
			continue;
		if (!last || entry->other_tid != last->tid)
			res = add_gap(cpu, window, last ? last->t_ns : 0, entry->t_ns);
		last = entry;
	}
	if (!last && !res)
		res = add_gap(cpu, window, 0, UINT64_MAX);
	return res;
}

void history__free(struct history *history)
{
	for (size_t i = 0; i < history->cpu_cnt; i++) {
		free(history->cpus[i].entries);
		free(history->cpus[i].gaps);
	}
	free(history->cpus);
}
