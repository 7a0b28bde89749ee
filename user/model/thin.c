/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Each sample knows how many it stands for. Neighbours are put together in groups that stand for about as many, so that
 * samples thinned before and newer ones end up equally dense, and of each group the longest stays.
 */
#include "model/thin.h"

#include <stdbool.h>
#include <string.h>

#include "model/sample.h"

struct group {
	size_t best; /* index + 1 of the sample that stays; 0: it is empty */
	uint64_t stands_for;
	uint64_t size;	      /* complete when it stands for so many */
	uint64_t members_max; /* stood for by the largest member */
	size_t cnt;
};

static void free_one(struct sample *sample)
{
	sample__free(sample);
	memset(sample, 0, sizeof(*sample));
}

/* All of the group is freed but the best. */
static void take(struct sample *samples, struct group *group, size_t at)
{
	struct sample *best = group->best ? &samples[group->best - 1] : NULL;

	group->stands_for += samples[at].stands_for;
	if (!best) {
		group->best = at + 1;
	} else if (samples[at].ns > best->ns) {
		free_one(best);
		group->best = at + 1;
	} else {
		free_one(&samples[at]);
	}
	samples[group->best - 1].stands_for = group->stands_for;
	if (group->stands_for >= group->size)
		group->best = group->stands_for = 0;
}

/* Freed ones stand for none. */
static size_t close_gaps(struct sample *samples, size_t cnt)
{
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++)
		if (samples[i].stands_for)
			samples[kept++] = samples[i];
	return kept;
}

static struct group *group_of(struct group *groups, const struct sample *sample)
{
	return &groups[sample->state < JANK_STATE_CNT ? sample->state : JANK_STATE_OTHER];
}

static void survey(const struct sample *samples, size_t cnt, struct group *groups)
{
	for (size_t i = 0; i < cnt; i++) {
		struct group *group = group_of(groups, &samples[i]);

		group->cnt++;
		group->size += samples[i].stands_for;
		if (samples[i].stands_for > group->members_max)
			group->members_max = samples[i].stands_for;
	}
}

size_t thin__halve(struct sample *samples, size_t cnt)
{
	struct group groups[JANK_STATE_CNT] = { 0 };

	if (cnt < 3)
		return cnt;
	survey(samples + 1, cnt - 2, groups);
	for (size_t i = 0; i < JANK_STATE_CNT; i++) {
		size_t half = groups[i].cnt > 1 ? groups[i].cnt / 2 : 1;

		groups[i].size /= half; /* rounded down: up would leave a third of two times two */
	}
	for (size_t i = 1; i < cnt - 1; i++)
		take(samples, group_of(groups, &samples[i]), i);
	return close_gaps(samples, cnt);
}

size_t thin__even_ticks(struct sample *samples, size_t cnt)
{
	struct group groups[JANK_STATE_CNT] = { 0 }, *ticks = &groups[JANK_STATE_RUNNING];

	survey(samples, cnt, groups);
	ticks->size = ticks->members_max;
	if (ticks->size <= 1)
		return cnt;
	for (size_t i = 0; i < cnt; i++)
		if (samples[i].state == JANK_STATE_RUNNING)
			take(samples, ticks, i);
	return close_gaps(samples, cnt);
}
