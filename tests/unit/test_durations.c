/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Buckets of durations: their edges over all 64 bits, quantiles compared with exact ones, the edge
 * at the threshold.
 */
#include "model/hist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define SAMPLE_CNT 20000
#define ERROR_MAX  0.02

static unsigned bucket_of(uint64_t ns)
{
	return (unsigned)jank_hist__bucket(ns, jank_hist__log2(ns));
}

/* --- arithmetic */

static void test_log2(void)
{
	int wrong = jank_hist__log2(0) != 0;

	for (unsigned i = 0; i < 64; i++) {
		wrong += jank_hist__log2(1ull << i) != i;
		wrong += jank_hist__log2((1ull << i) + ((1ull << i) - 1)) != i;
	}
	is_int(wrong, 0,
	       "floor(log2) of each power of two, and of the last number before the next");
}

static void test_edges(void)
{
	int wrong = 0, wide = 0;

	for (unsigned i = 0; i < JANK_HIST_BUCKETS; i++) {
		uint64_t lower = durations__lower(i), next = durations__lower(i + 1);

		wrong += bucket_of(lower) != i || lower >= next;
		wrong += bucket_of(next - 1) != (next == UINT64_MAX ? JANK_HIST_BUCKETS - 1 : i);
		/* The largest distance of any value in the bucket from its middle. */
		if (i && i + 1 < JANK_HIST_BUCKETS)
			wide += (double)(next - 1 - lower) > 2 * ERROR_MAX * (double)lower;
	}
	is_int(wrong, 0, "a bucket contains its edges, and not the next numbers");
	is_int(wide, 0, "no bucket is wider than 4 %%");
	for (unsigned e = JANK_HIST_FIRST; e < JANK_HIST_LAST; e++)
		wrong +=
			durations__lower(1 + (e - JANK_HIST_FIRST) * JANK_HIST_OCTAVE) != 1ull << e;
	is_int(wrong, 0, "each power of two is an edge");
	ok(bucket_of(0) == 0 && bucket_of(127) == 0 && bucket_of(128) == 1,
	   "the first bucket contains everything below");
	ok(bucket_of(1ull << 35) == JANK_HIST_BUCKETS - 1 &&
		   bucket_of(UINT64_MAX) == JANK_HIST_BUCKETS - 1,
	   "the last one everything above");
}

static void test_monotone(void)
{
	unsigned last = 0;
	int wrong = 0;

	for (uint64_t ns = 0; ns < 1 << 16; ns++) {
		wrong += bucket_of(ns) < last || bucket_of(ns) > last + 1;
		last = bucket_of(ns);
	}
	for (uint64_t ns = 1 << 16; ns < UINT64_MAX / 2; ns += ns / 1000) {
		wrong += bucket_of(ns) < last || bucket_of(ns) > last + 1;
		last = bucket_of(ns);
	}
	is_int(wrong, 0,
	       "a longer duration is never in an earlier bucket, and every bucket is used");
}

/* --- quantiles */

static double uniform(void)
{
	return ((double)random() + 0.5) / ((double)RAND_MAX + 1);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static double draw_uniform(void)
{
	return 1e6 * uniform() + 1000;
}

static double draw_log_normal(void)
{
	return 30000 * exp(1.2 * normal());
}

static double draw_narrow(void)
{
	return 16.6e6 * exp(0.01 * normal());
}

static double draw_exponential(void)
{
	return 1000 - 250000 * log(uniform());
}

static double draw_pareto(void)
{
	return 5000 * pow(uniform(), -0.7);
}

static double draw_bimodal(void)
{
	return (uniform() < 0.7 ? 12000 : 8e6) * exp(0.2 * normal());
}

/* Two clusters of durations, with none between. */
static double draw_two(void)
{
	return uniform() < 0.95 ? 1048576 : 3000000000.;
}

static double draw_short(void)
{
	return 200 + 300 * uniform();
}

static double constant;

static double draw_constant(void)
{
	return uniform() < 0.0005 ? 9e9 : constant; /* an outlier: the maximum must not decide */
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static const unsigned permilles[] = { 500, 900, 990, 999 };

/* The largest error of the four quantiles. */
static double worst_error(double (*draw)(void), uint64_t *samples, uint64_t edge_ns)
{
	struct jank_hist hist = { .edge_ns = edge_ns };
	struct durations d = { 0 };
	double worst = 0;

	for (size_t i = 0; i < SAMPLE_CNT; i++) {
		uint64_t ns = (uint64_t)draw();

		samples[i] = ns;
		hist.cnt[bucket_of(ns)]++;
		hist.over_cnt += ns > edge_ns;
		hist.max_ns = ns > hist.max_ns ? ns : hist.max_ns;
	}
	qsort(samples, SAMPLE_CNT, sizeof(*samples), compare);
	durations__add(&d, &hist);
	for (size_t i = 0; i < sizeof(permilles) / sizeof(*permilles); i++) {
		double exact = (double)samples[(SAMPLE_CNT * permilles[i] + 999) / 1000 - 1], error;
		uint64_t ns = 0;

		if (!durations__quantile(&d, permilles[i], &ns))
			return 1;
		error = fabs((double)ns - exact) / exact;
		worst = error > worst ? error : worst;
	}
	if (d.max_ns != samples[SAMPLE_CNT - 1])
		return 1;
	return worst;
}

static void test_quantiles(void)
{
	static const struct {
		const char *name;
		double (*draw)(void);
	} rows[] = {
		{ "uniform", draw_uniform },	 { "log-normal", draw_log_normal },
		{ "narrow", draw_narrow },	 { "exponential", draw_exponential },
		{ "heavy-tailed", draw_pareto }, { "bimodal", draw_bimodal },
		{ "of two clusters", draw_two }, { "of very short ones", draw_short },
	};
	uint64_t *samples = calloc(SAMPLE_CNT, sizeof(*samples));
	double error, worst = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		error = worst_error(rows[i].draw, samples, 200000);
		ok(error <= ERROR_MAX,
		   "p50 to p99.9 of a distribution that is %s: %.2f %% off at most", rows[i].name,
		   100 * error);
	}
	/* At both edges of buckets and between, over the whole range. */
	for (constant = 200; constant < 3e10; constant *= 1.0717) {
		error = worst_error(draw_constant, samples, 16000000);
		worst = error > worst ? error : worst;
	}
	ok(worst <= ERROR_MAX, "of constants: %.2f %% off at most", 100 * worst);
	free(samples);
}

/* --- few, none, too long */

static void test_few(void)
{
	struct jank_hist hist = { 0 };
	struct durations d = { 0 };
	uint64_t ns = 7;

	ok(!durations__quantile(&d, 500, &ns) && ns == 7, "no durations have no quantile");
	hist.cnt[bucket_of(1000000)] = 1;
	durations__add(&d, &hist);
	ok(!durations__quantile(&d, 500, &ns), "nor has one");
	hist.cnt[bucket_of(1000000)] = 98;
	durations__add(&d, &hist);
	ok(durations__quantile(&d, 900, &ns) && !durations__quantile(&d, 990, &ns),
	   "99 have a p90 and no p99");
	hist.cnt[bucket_of(1000000)] = 1;
	durations__add(&d, &hist);
	ok(durations__quantile(&d, 990, &ns) && !durations__quantile(&d, 999, &ns),
	   "100 have a p99");
	d.max_ns = 990000;
	ok(durations__quantile(&d, 990, &ns) && ns <= 990000, "never above the maximum");
}

static void test_ends(void)
{
	struct jank_hist hist = { .max_ns = 100ull << 30 };
	struct durations d = { 0 };
	struct durations_bucket b;
	size_t pos = 0;

	hist.cnt[0] = 3;
	hist.cnt[JANK_HIST_BUCKETS - 1] = 4;
	durations__add(&d, &hist);
	ok(durations__next(&d, &pos, &b) && b.lower_ns == 0 && b.upper_ns == 127 && b.cnt == 3,
	   "the first bucket");
	ok(durations__next(&d, &pos, &b) && b.upper_ns == 100ull << 30 && b.cnt == 4,
	   "the last one ends at the maximum");
	ok(!durations__next(&d, &pos, &b), "and no bucket comes after it");
	is_uint(durations__log2(&d, 6), 3, "by powers of two: the shortest");
	is_uint(durations__log2(&d, 34), 4, "  the longest");
	is_uint(durations__log2(&d, 35) + durations__log2(&d, 5), 0, "  none elsewhere");
}

/* --- the edge */

static void test_edge(void)
{
	struct jank_hist hist = { .edge_ns = 16666667, .max_ns = 40000000, .over_cnt = 7 };
	struct durations d = { 0 }, sum = { 0 };
	unsigned at = bucket_of(16666667);
	struct durations_bucket b;
	size_t pos = 0;

	hist.cnt[at] = 5;
	hist.cnt[bucket_of(40000000)] = 4;
	durations__add(&d, &hist);
	ok(durations__next(&d, &pos, &b) && b.upper_ns == 16666667 && b.cnt == 2,
	   "the threshold is an edge: durations up to it");
	ok(durations__next(&d, &pos, &b) && b.lower_ns == 16666668 && b.cnt == 3 &&
		   b.upper_ns == durations__lower(at + 1) - 1,
	   "  above it");
	ok(durations__next(&d, &pos, &b) && b.cnt == 4, "  far above it");
	durations__merge(&sum, &d);
	durations__merge(&sum, &d);
	ok(sum.over_cnt == 14 && sum.edge_ns == 16666667 && sum.total == 18 &&
		   sum.max_ns == 40000000,
	   "two threads are added up");
	hist.edge_ns++;
	durations__add(&sum, &hist);
	is_uint(sum.edge_ns, 0, "with two thresholds neither is an edge");
	hist.over_cnt = ~0ull;
	memset(&d, 0, sizeof(d));
	durations__add(&d, &hist);
	pos = 0;
	ok(durations__next(&d, &pos, &b) && b.cnt == 5, "nonsensical counts give no buckets");
}

static void test_take_new(void)
{
	struct durations told = {}, now = { .edge_ns = 1000 }, more;

	durations__add_many(&now, 500, 3);
	durations__add_many(&now, 70000, 2);
	now.over_cnt = 2;
	durations__take_new(&told, &now, &more);
	ok(more.total == 5 && more.max_ns == 70000 && more.over_cnt == 2 && more.edge_ns == 1000,
	   "all of it is new at first");
	durations__take_new(&told, &now, &more);
	ok(!more.total && !more.max_ns && !more.over_cnt, "nothing is new then");
	durations__add_many(&now, 20000, 4);
	durations__take_new(&told, &now, &more);
	ok(more.total == 4 && more.max_ns >= 20000 && more.max_ns < 20800,
	   "four more, the longest of which is known within a bucket");
	now = (struct durations){ .edge_ns = 1000 };
	durations__add_many(&now, 500, 1);
	durations__take_new(&told, &now, &more);
	is_uint(more.total, 0, "counts that shrink for a while are not new");
	durations__add_many(&now, 500, 4);
	durations__add_many(&now, 70000, 2);
	durations__add_many(&now, 20000, 4);
	durations__take_new(&told, &now, &more);
	is_uint(more.total, 2, "but what exceeds them later is, once");
	durations__add_many(&now, 90000, 1);
	durations__take_new(&told, &now, &more);
	is_uint(more.max_ns, 90000, "one that is longer than all before is exact");
}

static void test_pack(void)
{
	struct durations d = { .edge_ns = 1000, .over_cnt = 2 }, found;
	struct durations_packed *packed = NULL;

	durations__add_many(&d, 500, 3);
	durations__add_many(&d, 70000, 2);
	is_int(durations__pack(&d, &packed), 0, "durations are packed");
	ok(packed->len < 200, "in %u buckets", packed->len);
	durations__unpack(packed, &found);
	ok(!memcmp(&d, &found, sizeof(d)), "and found again");
	durations__add_one(&d, 1);
	durations__add_one(&d, UINT64_MAX);
	is_int(durations__pack(&d, &packed), 0, "from the first to the last bucket, too");
	durations__unpack(packed, &found);
	ok(!memcmp(&d, &found, sizeof(d)), "they are found again");
	d = (struct durations){ .total = 7 };
	is_int(durations__pack(&d, &packed), 0, "counts that contradict the total");
	durations__unpack(packed, &found);
	ok(!memcmp(&d, &found, sizeof(d)), "stay as they are");
	d = (struct durations){};
	is_int(durations__pack(&d, &packed), 0, "none at all");
	ok(!packed, "take no memory");
	durations__unpack(packed, &found);
	ok(!memcmp(&d, &found, sizeof(d)), "and are none again");
}

/* A dispatch turns out to be none. */
static void test_take_one(void)
{
	struct durations d = { .edge_ns = 1000000, .over_cnt = 2 };

	durations__add_many(&d, 900000, 5);
	durations__add_one(&d, 2000000);
	durations__add_one(&d, 34000000000);
	ok(!durations__take_one(&d, 5000000), "one that was not counted cannot be taken back");
	ok(durations__take_one(&d, 34000000000), "the longest is taken back");
	is_uint(d.total, 6, "it is no longer counted");
	is_uint(d.over_cnt, 1, "nor as one over the threshold");
	ok(d.max_ns >= 2000000 && d.max_ns < 2080000, "the longest is another one, to its bucket");
	ok(durations__take_one(&d, 2000000), "that one, too");
	ok(d.max_ns >= 900000 && d.max_ns <= d.edge_ns && !d.over_cnt,
	   "what is left is not over the threshold");
	for (int i = 0; i < 5; i++)
		durations__take_one(&d, 900000);
	ok(!d.total && !d.max_ns, "of none there is no longest");
}

int main(void)
{
	srandom(1);
	test_take_one();
	test_pack();
	test_take_new();
	test_log2();
	test_edges();
	test_monotone();
	test_quantiles();
	test_few();
	test_ends();
	test_edge();
	return tap__done();
}
