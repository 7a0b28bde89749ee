/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of two samples, and the control of false discoveries among many tests. Any thread. */
#ifndef JANK_EXPORT_DIFF_STATISTICS_H
#define JANK_EXPORT_DIFF_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The regularized incomplete beta function I_x(a, b), for a, b > 0 and x in 0..1; within 1e-10. It
 * gives the tails of the binomial and of Student's distribution. By its continued fraction (DLMF
 * 8.17.22).
 */
double beta_part(double a, double b, double x);

/*
 * Probability of a difference like that of k of n or larger, on both sides, where each of n falls
 * into the second sample with probability share. Exact for counts; n and k may be fractions, where
 * counts were divided by their dispersion.
 */
double binomial_p(double k, double n, double share);

/*
 * The bounds of the probability with which k of n fell there, with 95 % confidence (Clopper,
 * Pearson).
 */
void binomial_bounds(double k, double n, double *ret_low, double *ret_high);

/* The same with this probability on each side instead of 2.5 %. */
void binomial_bounds_at(double k, double n, double tail, double *ret_low, double *ret_high);

/* Probability of |t| or more, on both sides, with this many degrees of freedom. */
double student_p(double t, double freedom);

/* The |t| of which student_p is p; at most 1e6. */
double student_t(double p, double freedom);

void sort_values(uint64_t *list, size_t cnt); /* rising */

/*
 * The rank sum of Wilcoxon, Mann and Whitney: standard deviations by which the second sample is
 * larger than by chance, with equal values at their middle rank. Sorts both. 0 if one is empty.
 */
double rank_sum(uint64_t *a, size_t a_cnt, uint64_t *b, size_t b_cnt);

/* Probability of a deviation of |z| standard deviations or more, on both sides. */
double normal_p(double z);

/* The |z| of which normal_p is p; at most 40. */
double normal_z(double p);

/*
 * Benjamini and Hochberg 1995: replaces each p by its adjusted value. Taking all tests below q then
 * has a share of false ones of q at most, on average.
 */
struct p_value {
	double p;
	size_t nr; /* the caller's */
};
void adjust_p(struct p_value *list, size_t cnt);

#endif
