/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A side from sums. A part is an interval of length 1 at its number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/diff/sides.h"

int diff__add_dispatches(struct diff *diff, unsigned side, const char *key, const char *process,
			 const char *loop, uint64_t part, uint64_t cnt)
{
	struct diff_interval *interval;
	struct diff_loop *entry;
	int res = diff__get_loop(diff, key, process, loop, &entry);

	if (res || !entry)
		return res;
	interval = diff__new_interval(&entry->sides[side], 0);
	if (!interval)
		return -ENOMEM;
	interval->begin_ns = part;
	interval->end_ns = part + 1;
	interval->cnt = cnt;
	entry->sides[side].dispatch_cnt += cnt;
	diff->inputs[side].dispatch_cnt += cnt;
	return 0;
}

static struct diff_interval *find_part(struct diff_side *side, uint64_t part)
{
	for (size_t i = 0; i < side->interval_cnt; i++)
		if (side->intervals[i].begin_ns == part)
			return &side->intervals[i];
	return NULL;
}

int diff__add_histogram(struct diff *diff, unsigned side, const char *key, uint64_t part,
			const uint64_t *ends_ns, const uint64_t *counts, size_t cnt)
{
	struct diff_loop *loop = groups__find_text(&diff->loops, key);
	struct diff_interval *interval = loop ? find_part(&loop->sides[side], part) : NULL;

	if (!interval || interval->bucket_cnt || !cnt)
		return 0;
	free(interval->buckets);
	interval->buckets = calloc(cnt, sizeof(*interval->buckets));
	if (!interval->buckets)
		return -ENOMEM;
	interval->bucket_cnt = (uint32_t)cnt;
	for (size_t i = 0; i < cnt; i++) {
		interval->buckets[i].ns = ends_ns[i];
		interval->buckets[i].cnt = counts[i];
		durations__add_many(&loop->sides[side].durations, ends_ns[i], counts[i]);
	}
	return 0;
}

int diff__add_fault_blocks(struct diff *diff, unsigned side, const char *key, const char *fault,
			   uint64_t part, uint64_t cnt)
{
	struct diff_loop *loop = groups__find_text(&diff->loops, key);
	struct diff_fault *entry;
	int res = 0;

	diff->inputs[side].block_cnt += cnt;
	for (int i = 0; i < 2 && !res && loop; i++) {
		res = diff__get_fault(diff, loop, i ? "" : fault, &entry);
		if (!res && entry)
			res = diff__add_end(entry, side, part, cnt);
	}
	return res;
}

static struct diff_fault *find_fault(struct diff *diff, const char *key, const char *fault)
{
	struct diff_loop *loop = groups__find_text(&diff->loops, key);

	return loop ? groups__find_text(&loop->faults, fault) : NULL;
}

void diff__add_recorded(struct diff *diff, unsigned side, const char *key, const char *fault,
			uint64_t cnt)
{
	struct diff_fault *entry = find_fault(diff, key, fault);

	if (entry)
		entry->sides[side].recorded_cnt += cnt;
}

int diff__add_delays(struct diff *diff, unsigned side, const char *key, const char *fault,
		     const uint64_t *delays_ns, size_t cnt)
{
	struct diff_fault *entry = find_fault(diff, key, fault);
	int res = 0;

	for (size_t i = 0; i < cnt && !res && entry; i++)
		res = diff__add_delay(entry, side, delays_ns[i]);
	return res;
}

int diff__name_fault(struct diff_fault *fault, const char *signature, const char *summary)
{
	char *copy = strdup(signature), *text = summary && *summary ? strdup(summary) : NULL;

	if (!copy || (summary && *summary && !text)) {
		free(copy);
		free(text);
		return -ENOMEM;
	}
	free(fault->signature);
	free(fault->summary);
	fault->signature = copy;
	fault->summary = text;
	return 0;
}
