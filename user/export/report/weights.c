/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the duration of a block among its samples, to the nanosecond. */
#include <errno.h>
#include <stdlib.h>

#include "export/report/report.h"
#include "export/values.h"

/* Parts of one block, while they are made. */
struct parts {
	struct weight *list; /* room for two of each sample and one of each state */
	size_t cnt;
	uint64_t left[JANK_STATE_CNT]; /* ns of the account that have no stack yet */
};

/* The account is exact. A span is cut to it: it may be longer where a wake-up was missed. */
static void add(struct parts *parts, struct weight weight)
{
	uint64_t *left = &parts->left[weight.state];

	if (weight.ns > *left)
		weight.ns = *left;
	*left -= weight.ns;
	if (weight.ns)
		parts->list[parts->cnt++] = weight;
}

/* Tick number n of cnt. The rounding error is distributed, so that the sum is exact. */
static uint64_t tick_ns(uint64_t running_ns, uint64_t n, uint64_t cnt)
{
	unsigned __int128 ns = running_ns;

	return (uint64_t)(ns * (n + 1) / cnt) - (uint64_t)(ns * n / cnt);
}

static void add_span(struct parts *parts, const Jankbpf__Sample *sample)
{
	uint64_t late = sample->runnable_ns < sample->ns ? sample->runnable_ns : sample->ns;
	uint32_t state = value__state(sample->state);

	if (state == JANK_STATE_RUNNABLE)
		late = 0;
	add(parts, (struct weight){ sample, state, 1, sample->ns - late });
	add(parts, (struct weight){ sample, JANK_STATE_RUNNABLE, sample->ns == late, late });
}

int weights__of(const Jankbpf__Block *block, struct weight **ret, size_t *ret_cnt)
{
	uint64_t running = value__in_state(block->time, JANK_STATE_RUNNING), ticks = 0, n = 0;
	struct parts parts = {};

	parts.list = calloc(2 * block->n_samples + JANK_STATE_CNT, sizeof(*parts.list));
	if (!parts.list)
		return -ENOMEM;
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		parts.left[state] = value__in_state(block->time, state);
	for (size_t i = 0; i < block->n_samples; i++)
		ticks += value__is_tick(block->samples[i]);
	for (size_t i = 0; i < block->n_samples; i++) {
		const Jankbpf__Sample *sample = block->samples[i];

		if (value__is_tick(sample))
			add(&parts, (struct weight){ sample, JANK_STATE_RUNNING, 1,
						     tick_ns(running, n++, ticks) });
		else
			add_span(&parts, sample);
	}
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		add(&parts, (struct weight){ NULL, state, 0, parts.left[state] });
	*ret = parts.list;
	*ret_cnt = parts.cnt;
	return 0;
}
