/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of histograms, and the values derived from them. Bucket limits come from the function that
 * the probes count with.
 */
#include "model/durations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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
static uint64_t find_lower(unsigned bucket)
{
	uint64_t low = 0, high = 1ull << JANK_HIST_LAST;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (bucket_of(middle) >= bucket)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Any thread: two that look for the same edge find the same. */
uint64_t durations__lower(unsigned bucket)
{
	static _Atomic uint64_t found[JANK_HIST_BUCKETS]; /* 0: not yet, or that of bucket 0 */
	uint64_t ret;

	if (bucket >= JANK_HIST_BUCKETS)
		return UINT64_MAX;
	ret = atomic_load_explicit(&found[bucket], memory_order_relaxed);
	if (!ret && bucket) {
		ret = find_lower(bucket);
		atomic_store_explicit(&found[bucket], ret, memory_order_relaxed);
	}
	return ret;
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

/* The longest is at most as long as what is left allows. */
static void limit_max(struct durations *d)
{
	unsigned end = JANK_HIST_BUCKETS;

	while (end && !d->cnt[end - 1])
		end--;
	if (!end)
		d->max_ns = 0;
	else if (end < JANK_HIST_BUCKETS && d->max_ns >= durations__lower(end))
		d->max_ns = durations__lower(end) - 1;
	if (d->edge_ns && !d->over_cnt && d->max_ns > d->edge_ns)
		d->max_ns = d->edge_ns;
}

bool durations__take_one(struct durations *d, uint64_t ns)
{
	unsigned bucket = bucket_of(ns);

	if (bucket >= JANK_HIST_BUCKETS || !d->cnt[bucket])
		return false;
	d->cnt[bucket]--;
	d->total--;
	if (d->over_cnt && ns > d->edge_ns)
		d->over_cnt--;
	limit_max(d);
	return true;
}

int durations__pack(const struct durations *d, struct durations_packed **p)
{
	struct durations_packed *packed = NULL;
	uint32_t first = 0, end = JANK_HIST_BUCKETS;
	size_t size;

	if (d->total) {
		while (first < end && !d->cnt[first])
			first++;
		while (first < end && !d->cnt[end - 1])
			end--;
		size = (end - first) * sizeof(*d->cnt);
		packed = malloc(sizeof(*packed) + size);
		if (!packed)
			return -ENOMEM;
		*packed = (struct durations_packed){ d->total,	  d->max_ns, d->edge_ns,
						     d->over_cnt, first,     end - first };
		memcpy(packed->cnt, &d->cnt[first], size);
	}
	free(*p);
	*p = packed;
	return 0;
}

void durations__unpack(const struct durations_packed *p, struct durations *ret)
{
	*ret = (struct durations){};
	if (!p)
		return;
	ret->total = p->total;
	ret->max_ns = p->max_ns;
	ret->edge_ns = p->edge_ns;
	ret->over_cnt = p->over_cnt;
	memcpy(&ret->cnt[p->first], p->cnt, p->len * sizeof(*p->cnt));
}

void durations__add_many(struct durations *d, uint64_t ns, uint64_t cnt)
{
	if (!cnt)
		return;
	d->total += cnt;
	d->max_ns = longer(d->max_ns, ns);
	d->cnt[bucket_of(ns)] += cnt;
}

void durations__add_one(struct durations *d, uint64_t ns)
{
	durations__add_many(d, ns, 1);
}

/* The longer part of *told and now; what is longer by. */
static uint64_t take_more(uint64_t *told, uint64_t now)
{
	uint64_t more = now > *told ? now - *told : 0;

	*told += more;
	return more;
}

/* Longest of the highest bucket that holds something. */
static uint64_t longest(const struct durations *d)
{
	for (unsigned i = JANK_HIST_BUCKETS; i-- > 0;)
		if (d->cnt[i])
			return durations__lower(i + 1) - 1;
	return 0;
}

void durations__take_new(struct durations *told, const struct durations *now, struct durations *ret)
{
	bool is_longer = now->max_ns > told->max_ns;

	*ret = (struct durations){ .edge_ns = now->edge_ns };
	for (unsigned i = 0; i < JANK_HIST_BUCKETS; i++)
		ret->total += ret->cnt[i] = take_more(&told->cnt[i], now->cnt[i]);
	told->total += ret->total;
	ret->over_cnt = take_more(&told->over_cnt, now->over_cnt);
	take_more(&told->max_ns, now->max_ns);
	if (ret->total)
		ret->max_ns = is_longer ? now->max_ns : longest(ret);
	if (told->max_ns < ret->max_ns)
		ret->max_ns = told->max_ns;
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
	unsigned edge = d->edge_ns ? bucket_of(d->edge_ns) : JANK_HIST_BUCKETS;

	while (*pos < 2 * (size_t)JANK_HIST_BUCKETS) {
		unsigned i = (unsigned)(*pos / 2);
		bool second = (*pos)++ % 2, has_edge = edge == i;
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
