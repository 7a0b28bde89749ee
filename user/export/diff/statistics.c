/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/diff/statistics.h"

#include <math.h>
#include <stdlib.h>

#define TERMS_MAX 10000
#define PRECISION 1e-14
#define TINY	  1e-300
#define HALVINGS  60   /* of the search for a bound, at most */
#define RELATIVE  1e-7 /* of a bound: then it is found */

/* The continued fraction by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), ret;

	d = 1 / (fabs(d) < TINY ? TINY : d);
	ret = d;
	for (int m = 1; m < TERMS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step = 1;

		for (int i = 0; i < 2; i++) {
			double term = i ? odd : even;

			d = 1 + term * d;
			c = 1 + term / c;
			d = 1 / (fabs(d) < TINY ? TINY : d);
			c = fabs(c) < TINY ? TINY : c;
			step *= c * d;
		}
		ret *= step;
		if (fabs(step - 1) < PRECISION)
			break;
	}
	return ret;
}

double beta_part(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x > 0;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Probability of k or more. */
static double at_least(double k, double n, double share)
{
	return k <= 0 ? 1 : beta_part(k, n - k + 1, share);
}

double binomial_p(double k, double n, double share)
{
	double more = at_least(k, n, share), less = k >= n ? 1 : 1 - at_least(k + 1, n, share);
	double p = 2 * (more < less ? more : less);

	return p < 1 ? p : 1;
}

/* The share at which the probability beyond k is `limit`. */
static double search(double k, double n, double limit, bool upper)
{
	double low = 0, high = 1;

	for (int i = 0; i < HALVINGS && high - low > RELATIVE * high; i++) {
		double share = (low + high) / 2;
		double tail = upper ? 1 - at_least(k + 1, n, share) : at_least(k, n, share);

		if ((tail < limit) == upper)
			high = share;
		else
			low = share;
	}
	return (low + high) / 2;
}

void binomial_bounds_at(double k, double n, double tail, double *ret_low, double *ret_high)
{
	*ret_low = k <= 0 ? 0 : search(k, n, tail, false);
	*ret_high = k >= n ? 1 : search(k, n, tail, true);
}

void binomial_bounds(double k, double n, double *ret_low, double *ret_high)
{
	binomial_bounds_at(k, n, 0.025, ret_low, ret_high);
}

double student_p(double t, double freedom)
{
	return beta_part(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_t(double p, double freedom)
{
	double low = 0, high = 1e6;

	for (int i = 0; i < HALVINGS && high - low > RELATIVE * high; i++) {
		double t = (low + high) / 2;

		if (student_p(t, freedom) > p)
			low = t;
		else
			high = t;
	}
	return (low + high) / 2;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void sort_values(uint64_t *list, size_t cnt)
{
	if (cnt)
		qsort(list, cnt, sizeof(*list), by_size);
}

/* How many at the start of a sorted list equal value. */
static size_t count_same(const uint64_t *list, size_t cnt, uint64_t value)
{
	size_t ret = 0;

	while (ret < cnt && list[ret] == value)
		ret++;
	return ret;
}

double rank_sum(uint64_t *a, size_t a_cnt, uint64_t *b, size_t b_cnt)
{
	double n = (double)(a_cnt + b_cnt), sum = 0, ties = 0, before = 0, variance;
	size_t i = 0, k = 0;

	if (!a_cnt || !b_cnt)
		return 0;
	sort_values(a, a_cnt);
	sort_values(b, b_cnt);
	while (i < a_cnt || k < b_cnt) {
		uint64_t value = k == b_cnt || (i < a_cnt && a[i] < b[k]) ? a[i] : b[k];
		size_t of_a = count_same(a + i, a_cnt - i, value);
		size_t of_b = count_same(b + k, b_cnt - k, value);
		double same = (double)(of_a + of_b);

		sum += (double)of_b * (before + (same + 1) / 2);
		ties += same * same * same - same;
		before += same;
		i += of_a;
		k += of_b;
	}
	variance = (double)a_cnt * (double)b_cnt / 12 * (n + 1 - ties / (n * (n - 1)));
	if (variance <= 0)
		return 0;
	return (sum - (double)b_cnt * (n + 1) / 2) / sqrt(variance);
}

double normal_p(double z)
{
	return erfc(fabs(z) / sqrt(2));
}

double normal_z(double p)
{
	double low = 0, high = 40;

	for (int i = 0; i < HALVINGS && high - low > RELATIVE * high; i++) {
		double z = (low + high) / 2;

		if (normal_p(z) > p)
			low = z;
		else
			high = z;
	}
	return (low + high) / 2;
}

static int by_p(const void *a, const void *b)
{
	const struct p_value *x = a, *y = b;

	return (x->p > y->p) - (x->p < y->p);
}

void adjust_p(struct p_value *list, size_t cnt)
{
	double least = 1;

	if (cnt)
		qsort(list, cnt, sizeof(*list), by_p);
	for (size_t i = cnt; i-- > 0;) {
		double p = list[i].p * (double)cnt / (double)(i + 1);

		least = p < least ? p : least;
		list[i].p = least;
	}
}
