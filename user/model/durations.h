/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Durations as counts in the buckets of bpf/jank_hist.h, added up over threads: quantiles, edges,
 * powers of two.
 */
#ifndef JANK_MODEL_DURATIONS_H
#define JANK_MODEL_DURATIONS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A quantile is told from n durations when this many are expected beyond it: p99 from 100, p99.9
 * from 1000.
 */
#define DURATIONS_BEYOND_MIN 1

/* Powers of two that durations__log2 tells apart. */
#define DURATIONS_LOG2_CNT JANK_HIST_LAST

/* All zero: none yet. 4.6 KiB. */
struct durations {
	uint64_t total;
	uint64_t max_ns;   /* exact; 0: not known */
	uint64_t edge_ns;  /* the threshold; 0: not known, or not the same in all */
	uint64_t over_cnt; /* over edge_ns */
	uint64_t cnt[JANK_HIST_BUCKETS];
};

/* Durations from lower_ns to upper_ns, both inclusive. */
struct durations_bucket {
	uint64_t lower_ns, upper_ns, cnt;
};

void durations__add(struct durations *d, const struct jank_hist *hist);
void durations__merge(struct durations *d, const struct durations *other);

/*
 * The duration of rank ceil(total * permille / 1000), within 2 % of the exact one, for any
 * distribution above 128 ns and below 2^35 ns. False: there are too few, and *ret_ns is left alone.
 */
bool durations__quantile(const struct durations *d, unsigned permille, uint64_t *ret_ns);

/*
 * The next bucket that holds something, in rising order; the one that the edge lies in is two. *pos
 * begins at 0. False: there are no more. upper_ns of the last bucket is max_ns, or ~0 when that is
 * not known.
 */
bool durations__next(const struct durations *d, size_t *pos, struct durations_bucket *ret);

/*
 * How many last from 2^i to 2^(i+1) ns. Below 128 ns all count for i = 6, from 2^34 ns on all for i
 * = 34; elsewhere no bucket lies across a power of two.
 */
uint64_t durations__log2(const struct durations *d, unsigned i);

/* A bucket's smallest duration, in ns; of JANK_HIST_BUCKETS: ~0. */
uint64_t durations__lower(unsigned bucket);

#endif
