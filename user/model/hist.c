/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of histograms, and the values derived from them. Bucket limits come from the function that
 * the probes count with.
 */
#include "model/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/block.h"

/*
 * Maximum distance of a quantile from the middle of its bucket, as a fraction of the bucket's
 * width. The widest bucket has 3.64 % of its lower edge: at 0.54 of it the error is below 2 %, even
 * if all durations in it are equal.
 */
#define OFF_MIDDLE_MAX 0.04

static unsigned bucket_of(uint64_t ns)
{
	return (unsigned)jank_hist__bucket(ns, jank_hist__log2(ns));
}

/* Binary search in the bucket function, so that the inverse is exact. */
uint64_t durations__lower(unsigned bucket)
{
	uint64_t low = 0, high = 1ull << JANK_HIST_LAST;

	if (bucket >= JANK_HIST_BUCKETS)
		return UINT64_MAX;
	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (bucket_of(middle) >= bucket)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void set_edge(struct durations *d, uint64_t edge_ns, uint64_t over_cnt, bool first)
{
	if (first)
		d->edge_ns = edge_ns;
	else if (d->edge_ns != edge_ns)
		d->edge_ns = 0;
	d->over_cnt += over_cnt;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void durations__merge(struct durations *d, const struct durations *other)
{
	if (!other->total)
		return;
	set_edge(d, other->edge_ns, other->over_cnt, !d->total);
	d->total += other->total;
	d->max_ns = longer(d->max_ns, other->max_ns);
	for (unsigned i = 0; i < JANK_HIST_BUCKETS; i++)
		d->cnt[i] += other->cnt[i];
}

void durations__add(struct durations *d, const struct jank_hist *hist)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < JANK_HIST_BUCKETS; i++)
		total += hist->cnt[i];
	if (!total)
		return;
	set_edge(d, hist->edge_ns, hist->over_cnt, !d->total);
	d->total += total;
	d->max_ns = longer(d->max_ns, hist->max_ns);
	for (unsigned i = 0; i < JANK_HIST_BUCKETS; i++)
		d->cnt[i] += hist->cnt[i];
}

void durations__add_one(struct durations *d, uint64_t ns)
{
	d->total++;
	d->max_ns = longer(d->max_ns, ns);
	d->cnt[jank_hist__bucket(ns, jank_hist__log2(ns))]++;
}

/*
 * Durations over the threshold in the threshold's bucket. The other ones over it are in the buckets
 * above.
 */
static uint64_t over_in(const struct durations *d, unsigned bucket)
{
	uint64_t over = d->over_cnt;

	for (unsigned i = bucket + 1; i < JANK_HIST_BUCKETS; i++)
		over -= d->cnt[i] < over ? d->cnt[i] : over;
	return over < d->cnt[bucket] ? over : d->cnt[bucket];
}

static struct durations_bucket whole(const struct durations *d, unsigned i)
{
	uint64_t upper = durations__lower(i + 1);

	if (i + 1 < JANK_HIST_BUCKETS)
		upper--;
	else if (d->max_ns)
		upper = d->max_ns;
	return (struct durations_bucket){ durations__lower(i), upper, d->cnt[i] };
}

/*
 * Two positions for each bucket: up to the threshold, and over it. Without the threshold in the
 * bucket, the second is empty.
 */
bool durations__next(const struct durations *d, size_t *pos, struct durations_bucket *ret)
{
	while (*pos < 2 * (size_t)JANK_HIST_BUCKETS) {
		unsigned i = (unsigned)(*pos / 2);
		bool second = (*pos)++ % 2, has_edge = d->edge_ns && bucket_of(d->edge_ns) == i;
		uint64_t over = 0;

		if (!d->cnt[i] || (second && !has_edge))
			continue;
		*ret = whole(d, i);
		if (has_edge)
			over = over_in(d, i);
		ret->cnt = second ? over : d->cnt[i] - over;
		if (second)
			ret->lower_ns = d->edge_ns + 1;
		else if (has_edge)
			ret->upper_ns = d->edge_ns;
		if (ret->cnt)
			return true;
	}
	return false;
}

/*
 * The k-th duration of the bucket, assuming an even distribution, but kept near the bucket's
 * middle.
 */
static uint64_t within(const struct durations *d, const struct durations_bucket *bucket, uint64_t k)
{
	double lower = (double)bucket->lower_ns, upper = (double)bucket->upper_ns;
	double part = ((double)k - 0.5) / (double)bucket->cnt;

	if (d->max_ns && d->max_ns < bucket->upper_ns)
		upper = (double)d->max_ns;
	if (part < 0.5 - OFF_MIDDLE_MAX)
		part = 0.5 - OFF_MIDDLE_MAX;
	if (part > 0.5 + OFF_MIDDLE_MAX)
		part = 0.5 + OFF_MIDDLE_MAX;
	return upper > lower ? (uint64_t)(lower + (upper - lower) * part) : bucket->lower_ns;
}

/* ceil(total * permille / 1000) without overflow */
static uint64_t rank_of(uint64_t total, unsigned permille)
{
	return total / 1000 * permille + (total % 1000 * permille + 999) / 1000;
}

bool durations__quantile(const struct durations *d, unsigned permille, uint64_t *ret_ns)
{
	uint64_t rank = rank_of(d->total, permille), seen = 0;
	struct durations_bucket bucket;
	size_t pos = 0;

	if (!d->total || d->total - rank < DURATIONS_BEYOND_MIN)
		return false;
	while (durations__next(d, &pos, &bucket)) {
		if (seen + bucket.cnt >= rank) {
			*ret_ns = within(d, &bucket, rank - seen);
			if (d->max_ns && *ret_ns > d->max_ns)
				*ret_ns = d->max_ns;
			return true;
		}
		seen += bucket.cnt;
	}
	return false;
}

uint64_t durations__log2(const struct durations *d, unsigned i)
{
	uint64_t sum = 0;

	if (i + 1 == JANK_HIST_FIRST)
		return d->cnt[0];
	if (i < JANK_HIST_FIRST || i >= JANK_HIST_LAST)
		return 0;
	for (unsigned b = 0; b < JANK_HIST_OCTAVE; b++)
		sum += d->cnt[1 + (i - JANK_HIST_FIRST) * JANK_HIST_OCTAVE + b];
	return sum;
}

/* Hash table by process and loop kind. */

#define ENTRY_MAX 4096
#define LOOP_MAX  64 /* loop kinds with an own entry for pid 0 */

struct key {
	uint32_t pid, loop;
};

struct entry {
	struct key key;
	struct loop_hist hist; /* process: set by hists__name, not shared */
	UT_hash_handle hh;
};

struct hists {
	struct entry *entries;
	struct hist_totals totals;
};

struct hists *hists__new(void)
{
	return calloc(1, sizeof(struct hists));
}

void hists__free(struct hists *hists)
{
	struct entry *entry, *next;

	if (!hists)
		return;
	HASH_ITER (hh, hists->entries, entry, next) {
		HASH_DEL(hists->entries, entry);
		free(entry->hist.process);
		free(entry);
	}
	free(hists);
}

static struct entry *entry_of(struct hists *hists, uint32_t pid, uint32_t loop)
{
	struct key key = { pid, loop };
	struct entry *entry;

	HASH_FIND(hh, hists->entries, &key, sizeof(key), entry);
	if (entry)
		return entry;
	if (pid && HASH_COUNT(hists->entries) >= ENTRY_MAX)
		return entry_of(hists, 0, loop);
	if (loop && HASH_COUNT(hists->entries) >= ENTRY_MAX + LOOP_MAX)
		return entry_of(hists, 0, 0);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = key;
	entry->hist.pid = pid;
	entry->hist.loop = loop;
	HASH_ADD(hh, hists->entries, key, sizeof(key), entry);
	return entry;
}

static int set_name(struct entry *entry, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(entry->hist.process);
	entry->hist.process = copy;
	return 0;
}

static int add(struct hists *hists, const struct loop_hist *hist)
{
	struct entry *entry = entry_of(hists, hist->pid, hist->loop);

	if (!entry)
		return -ENOMEM;
	entry->hist.dispatch_cnt += hist->dispatch_cnt;
	entry->hist.block_cnt += hist->block_cnt;
	durations__merge(&entry->hist.durations, &hist->durations);
	durations__merge(&entry->hist.starts, &hist->starts);
	return hist->process && entry->key.pid ? set_name(entry, hist->process) : 0;
}

int hists__add(struct hists *hists, const struct jank_rec_thread *rec)
{
	struct loop_hist hist = {
		.pid = rec->hdr.tgid,
		.loop = rec->loop,
		.dispatch_cnt = rec->dispatch_cnt,
		.block_cnt = rec->block_cnt,
	};

	if (!rec->dispatch_cnt && !rec->hang_cnt)
		return 0;
	durations__add(&hist.durations, &rec->dispatches);
	durations__add(&hist.starts, &rec->starts);
	hists->totals.dispatch_cnt += rec->dispatch_cnt;
	hists->totals.block_cnt += rec->block_cnt;
	hists->totals.hang_cnt += rec->hang_cnt;
	return add(hists, &hist);
}

void hists__each(const struct hists *hists,
		 void (*fn)(void *ctx, uint32_t pid, uint64_t dispatch_cnt), void *ctx)
{
	const struct entry *entry;

	for (entry = hists->entries; entry; entry = entry->hh.next)
		fn(ctx, entry->key.pid, entry->hist.dispatch_cnt);
}

int hists__name(struct hists *hists, uint32_t pid, const char *name)
{
	struct entry *entry;
	int res = 0;

	for (uint32_t loop = 0; loop < LOOP_MAX && !res; loop++) {
		struct key key = { pid, loop };

		HASH_FIND(hh, hists->entries, &key, sizeof(key), entry);
		if (entry)
			res = set_name(entry, name);
	}
	return res;
}

int hists__merge(struct hists *hists, const struct hists *other)
{
	struct entry *entry, *next;

	HASH_ITER (hh, other->entries, entry, next) {
		int res = add(hists, &entry->hist);

		if (res)
			return res;
	}
	hists->totals.dispatch_cnt += other->totals.dispatch_cnt;
	hists->totals.block_cnt += other->totals.block_cnt;
	hists->totals.hang_cnt += other->totals.hang_cnt;
	return 0;
}

struct hist_totals hists__totals(const struct hists *hists)
{
	return hists->totals;
}

static int by_pid(const void *a, const void *b)
{
	const struct loop_hist *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->loop < y->loop ? -1 : x->loop > y->loop;
}

int hists__list(const struct hists *hists, struct loop_hist **ret, size_t *ret_cnt)
{
	size_t cnt = HASH_COUNT(hists->entries), i = 0;
	struct entry *entry, *next;
	struct loop_hist *list = calloc(cnt ? cnt : 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	HASH_ITER (hh, hists->entries, entry, next) {
		list[i] = entry->hist;
		if (list[i].process)
			list[i].process = strdup(list[i].process); /* optional */
		i++;
	}
	qsort(list, cnt, sizeof(*list), by_pid);
	*ret = list;
	*ret_cnt = cnt;
	return 0;
}
