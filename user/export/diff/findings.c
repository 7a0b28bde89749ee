/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between both sides. Blocks come in bursts, and so do slow dispatches: their
 * variation between intervals tells how many independent events they amount to.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/diff/diff.h"
#include "export/diff/statistics.h"

#define BLOCKS_MIN    5	  /* of both sides, to compare a fault */
#define INTERVALS_MIN 5	  /* of each side, to compare quantiles */
#define RATE_RATIO    1.2 /* smaller changes of a rate are not notable */
#define TIME_RATIO    1.2 /* the same of a quantile */
#define TIME_MIN_NS   20000

static const struct {
	enum diff_kind kind;
	unsigned permille;
} quantiles[] = { { DIFF_P50, 500 }, { DIFF_P90, 900 }, { DIFF_P99, 990 } };

static int add(struct diff_findings *ret, const struct diff_finding *finding)
{
	struct diff_finding *longer = ret->list;

	if (!(ret->cnt & (ret->cnt - 1))) { /* a power of two: the room is full */
		longer = reallocarray(ret->list, ret->cnt ? 2 * ret->cnt : 1, sizeof(*longer));
		if (!longer)
			return -ENOMEM;
		ret->list = longer;
	}
	longer[ret->cnt++] = *finding;
	return 0;
}

/* --- rates of blocks */

/* Blocks of the fault that ended in the interval; the list is sorted. */
static uint64_t count_in(const struct diff_end *ends, size_t cnt, uint64_t begin_ns,
			 uint64_t end_ns)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < cnt && ends[i].ns < end_ns; i++)
		ret += ends[i].ns >= begin_ns ? ends[i].cnt : 0;
	return ret;
}

static int by_end(const void *a, const void *b)
{
	const struct diff_end *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Sums the squares of the differences to the mean rate, each over its expectation. */
static void add_dispersion(const struct diff_side *side, struct diff_fault *fault, unsigned nr,
			   double *sum, double *freedom)
{
	struct diff_end *ends = fault->sides[nr].ends;
	size_t end_cnt = fault->sides[nr].end_cnt;
	uint64_t cnt = fault->sides[nr].cnt;
	double rate = side->dispatch_cnt ? (double)cnt / (double)side->dispatch_cnt : 0;

	if (side->interval_cnt < 2 || rate <= 0)
		return;
	qsort(ends, end_cnt, sizeof(*ends), by_end);
	for (size_t i = 0; i < side->interval_cnt; i++) {
		const struct diff_interval *interval = &side->intervals[i];
		double expected = rate * (double)interval->cnt;
		double got = (double)count_in(ends, end_cnt, interval->begin_ns, interval->end_ns);

		if (expected > 0)
			*sum += (got - expected) * (got - expected) / expected;
	}
	*freedom += (double)side->interval_cnt - 1;
}

/* How many blocks come together. */
struct dispersion {
	double value;	/* at least 1 */
	double freedom; /* degrees of it where it is estimated; 0: blocks are independent */
};

static struct dispersion dispersion_of(const struct diff_loop *loop, struct diff_fault *fault)
{
	double sum = 0, freedom = 0;

	for (unsigned i = 0; i < DIFF_SIDES; i++)
		add_dispersion(&loop->sides[i], fault, i, &sum, &freedom);
	if (freedom > 0 && sum > freedom)
		return (struct dispersion){ sum / freedom, freedom };
	return (struct dispersion){ 1, 0 };
}

/* Probability of a deviation that was divided by the root of the dispersion. */
static double p_of_deviation(double z, const struct dispersion *dispersion)
{
	return dispersion->freedom > 0 ? student_p(z, dispersion->freedom) : normal_p(z);
}

/*
 * The probability on each side at which bounds of a normal deviation hold with 95 % confidence,
 * though the dispersion is an estimate.
 */
static double tail_of(const struct dispersion *dispersion)
{
	return dispersion->freedom > 0 ? normal_p(student_t(0.05, dispersion->freedom)) / 2 : 0.025;
}

/* Of the odds that a block is of B, with the dispatches of both. */
static double ratio_of(double share, const double *dispatches)
{
	return share < 1 ? share / (1 - share) * dispatches[DIFF_A] / dispatches[DIFF_B] : INFINITY;
}

/*
 * How many of the known delays come together: of a sample fewer, since it has fewer of each burst.
 */
static double dispersion_of_delays(const struct diff_fault *fault, double dispersion)
{
	double known = 0, all = 0;

	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		known += (double)fault->sides[i].delay_cnt;
		all += (double)fault->sides[i].cnt;
	}
	return known < all ? 1 + (dispersion - 1) * known / all : dispersion;
}

/* Do its blocks take longer? Of a burst, one block counts. */
static int compare_delays(const struct diff_loop *loop, struct diff_fault *fault,
			  const struct dispersion *dispersion, struct diff_findings *ret)
{
	struct diff_finding finding = { .kind = DIFF_DELAY, .loop = loop, .fault = fault };
	double z;

	if (!*fault->key || fault->sides[DIFF_A].delay_cnt < BLOCKS_MIN ||
	    fault->sides[DIFF_B].delay_cnt < BLOCKS_MIN)
		return 0;
	z = rank_sum(fault->sides[DIFF_A].delays_ns, fault->sides[DIFF_A].delay_cnt,
		     fault->sides[DIFF_B].delays_ns, fault->sides[DIFF_B].delay_cnt);
	finding.p = p_of_deviation(z / sqrt(dispersion_of_delays(fault, dispersion->value)),
				   dispersion);
	for (unsigned i = 0; i < DIFF_SIDES; i++) /* they are sorted now */
		finding.values[i] =
			(double)fault->sides[i].delays_ns[fault->sides[i].delay_cnt / 2];
	finding.ratio = finding.values[DIFF_B] / finding.values[DIFF_A];
	finding.notable = finding.ratio >= TIME_RATIO || finding.ratio <= 1 / TIME_RATIO;
	return add(ret, &finding);
}

static int compare_rates(const struct diff_loop *loop, struct diff_fault *fault,
			 struct diff_findings *ret)
{
	const double dispatches[] = { (double)loop->sides[DIFF_A].dispatch_cnt,
				      (double)loop->sides[DIFF_B].dispatch_cnt };
	double a = (double)fault->sides[DIFF_A].cnt, b = (double)fault->sides[DIFF_B].cnt;
	struct dispersion dispersion = dispersion_of(loop, fault);
	double low, high;
	struct diff_finding finding = {
		.kind = *fault->key ? DIFF_FAULT : DIFF_LOOP,
		.loop = loop,
		.fault = fault,
		.values = { a * 1e6 / dispatches[DIFF_A], b * 1e6 / dispatches[DIFF_B] },
	};

	if (a + b < BLOCKS_MIN)
		return 0;
	finding.p = binomial_p(b / dispersion.value, (a + b) / dispersion.value,
			       dispatches[DIFF_B] / (dispatches[DIFF_A] + dispatches[DIFF_B]));
	if (dispersion.freedom > 0)
		finding.p = p_of_deviation(normal_z(finding.p), &dispersion);
	binomial_bounds_at(b / dispersion.value, (a + b) / dispersion.value, tail_of(&dispersion),
			   &low, &high);
	finding.ratio = ratio_of(b / (a + b), dispatches);
	finding.low = ratio_of(low, dispatches);
	finding.high = ratio_of(high, dispatches);
	finding.notable = finding.ratio >= RATE_RATIO || finding.ratio <= 1 / RATE_RATIO;
	return add(ret, &finding) ?: compare_delays(loop, fault, &dispersion, ret);
}

/* --- quantiles of dispatches */

/* The part of an interval's dispatches that took longer. */
static double longer_in(const struct diff_interval *interval, uint64_t ns)
{
	double cnt = 0;

	for (uint32_t i = 0; i < interval->bucket_cnt; i++)
		if (interval->buckets[i].ns > ns)
			cnt += (double)interval->buckets[i].cnt;
	return cnt;
}

/* The part of all dispatches that took longer, and the variance of that part between intervals. */
static void part_longer(const struct diff_side *side, uint64_t ns, double *ret_part,
			double *ret_variance)
{
	double all = 0, longer = 0, sum = 0, cnt = (double)side->interval_cnt;

	for (size_t i = 0; i < side->interval_cnt; i++) {
		all += (double)side->intervals[i].cnt;
		longer += longer_in(&side->intervals[i], ns);
	}
	*ret_part = all > 0 ? longer / all : 0;
	for (size_t i = 0; i < side->interval_cnt; i++) {
		double off = longer_in(&side->intervals[i], ns) -
			     *ret_part * (double)side->intervals[i].cnt;

		sum += off * off;
	}
	*ret_variance = all > 0 ? cnt / (cnt - 1) * sum / (all * all) : 0;
}

/* Is the part beyond the common quantile another one in B? */
static double p_of_quantile(const struct diff_loop *loop, uint64_t ns)
{
	double part[DIFF_SIDES], variance[DIFF_SIDES], freedom;
	size_t a = loop->sides[DIFF_A].interval_cnt, b = loop->sides[DIFF_B].interval_cnt;

	for (unsigned i = 0; i < DIFF_SIDES; i++)
		part_longer(&loop->sides[i], ns, &part[i], &variance[i]);
	if (variance[DIFF_A] + variance[DIFF_B] <= 0)
		return part[DIFF_A] == part[DIFF_B] ? 1 : 0;
	freedom = (double)(a < b ? a : b) - 1;
	return student_p((part[DIFF_B] - part[DIFF_A]) / sqrt(variance[DIFF_A] + variance[DIFF_B]),
			 freedom);
}

static int compare_quantile(const struct diff_loop *loop, size_t nr, struct diff_findings *ret)
{
	struct diff_finding finding = { .kind = quantiles[nr].kind, .loop = loop };
	struct durations both = loop->sides[DIFF_A].durations;
	uint64_t ns[DIFF_SIDES], common_ns;

	durations__merge(&both, &loop->sides[DIFF_B].durations);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		if (!durations__quantile(&loop->sides[i].durations, quantiles[nr].permille, &ns[i]))
			return 0;
		finding.values[i] = (double)ns[i];
	}
	if (!durations__quantile(&both, quantiles[nr].permille, &common_ns))
		return 0;
	finding.p = p_of_quantile(loop, common_ns);
	finding.ratio = ns[DIFF_A] ? finding.values[DIFF_B] / finding.values[DIFF_A] : INFINITY;
	finding.notable = fabs(finding.values[DIFF_B] - finding.values[DIFF_A]) >= TIME_MIN_NS &&
			  (finding.ratio >= TIME_RATIO || finding.ratio <= 1 / TIME_RATIO);
	return add(ret, &finding);
}

static int compare_loop(struct diff_loop *loop, bool by_signature, struct diff_findings *ret)
{
	struct diff_fault *fault;
	int res = 0;

	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		if (loop->sides[i].dispatch_cnt)
			continue;
		ret->only_cnt[!i] += loop->sides[!i].dispatch_cnt > 0;
		return 0;
	}
	GROUPS_EACH(&loop->faults, fault)
	if (by_signature || !*fault->key)
		res = res ?: compare_rates(loop, fault, ret);
	if (loop->sides[DIFF_A].interval_cnt < INTERVALS_MIN ||
	    loop->sides[DIFF_B].interval_cnt < INTERVALS_MIN) {
		ret->few_cnt++;
		return res;
	}
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles) && !res; i++)
		res = compare_quantile(loop, i, ret);
	return res;
}

/* --- all of them */

static int adjust(struct diff_findings *findings)
{
	struct p_value *list = calloc(findings->cnt + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < findings->cnt; i++)
		list[i] = (struct p_value){ findings->list[i].p, i };
	adjust_p(list, findings->cnt);
	for (size_t i = 0; i < findings->cnt; i++)
		findings->list[list[i].nr].p = list[i].p;
	free(list);
	for (size_t i = 0; i < findings->cnt; i++)
		findings->list[i].notable &= findings->list[i].p <= DIFF_FALSE_SHARE;
	return 0;
}

bool diff_finding__is_worse(const struct diff_finding *finding)
{
	return finding->notable && finding->ratio > 1;
}

/* Worse ones first, then better ones, then the others. */
static int rank(const struct diff_finding *finding)
{
	return diff_finding__is_worse(finding) ? 0 : finding->notable ? 1 : 2;
}

static int compare(const void *a, const void *b)
{
	const struct diff_finding *x = a, *y = b;

	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (x->p != y->p)
		return x->p < y->p ? -1 : 1;
	if (x->loop != y->loop)
		return strcmp(x->loop->key, y->loop->key);
	return (int)x->kind - (int)y->kind;
}

int diff__compare(struct diff *diff, struct diff_findings *ret)
{
	bool by_signature = diff__has_one_signature_version(diff);
	struct diff_loop *loop;
	int res = 0;

	*ret = (struct diff_findings){};
	GROUPS_EACH(&diff->loops, loop)
	res = res ?: compare_loop(loop, by_signature, ret);
	if (!res)
		res = adjust(ret);
	if (res) {
		free(ret->list);
		ret->list = NULL;
		ret->cnt = 0;
		return res;
	}
	if (ret->cnt)
		qsort(ret->list, ret->cnt, sizeof(*ret->list), compare);
	return 0;
}
