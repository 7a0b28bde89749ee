/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Durations as counts in the buckets of bpf/jank_hist.h, summed over threads: quantiles, exact
 * count over the threshold, powers of two.
 */
#ifndef JANK_MODEL_DURATIONS_H
#define JANK_MODEL_DURATIONS_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A quantile is reported if at least this many of the n durations are expected beyond it: p99 from
 * n = 100, p99.9 from n = 1000.
 */
#define DURATIONS_BEYOND_MIN 1

/* Number of powers of two for durations__log2. */
#define DURATIONS_LOG2_CNT JANK_HIST_LAST

/* All zero: empty. 4.6 KiB. */
struct durations {
	uint64_t total;
	uint64_t max_ns;   /* exact; 0: not known */
	uint64_t edge_ns;  /* the threshold; 0: not known, or not the same in all */
	uint64_t over_cnt; /* over edge_ns */
	uint64_t cnt[JANK_HIST_BUCKETS];
};

/*
 * The same for storage: only the buckets from the first to the last that is not empty. A program's
 * durations take some 100 of them.
 */
struct durations_packed {
	uint64_t total, max_ns, edge_ns, over_cnt;
	uint32_t first, len; /* of cnt */
	uint64_t cnt[];
};

/* Puts *d into *p, which free() releases; NULL: empty. -ENOMEM: *p is as before. */
int durations__pack(const struct durations *d, struct durations_packed **p);
void durations__unpack(const struct durations_packed *p,
		       struct durations *ret); /* p: may be NULL */

/* Durations from lower_ns to upper_ns, both inclusive. */
struct durations_bucket {
	uint64_t lower_ns, upper_ns, cnt;
};

void durations__add(struct durations *d, const struct jank_hist *hist);
void durations__add_one(struct durations *d, uint64_t ns);
void durations__add_many(struct durations *d, uint64_t ns, uint64_t cnt); /* cnt of the same */
void durations__merge(struct durations *d, const struct durations *other);

/*
 * Takes back one that was counted. The longest of the rest is then known within its bucket. False:
 * none of this length was counted.
 */
bool durations__take_one(struct durations *d, uint64_t ns);

/*
 * Moves what `now` has more than *told into *ret, and then *told to what is larger. Counts that
 * shrink for a while, between the end of a thread and its last record, are not taken twice. The
 * longest of *ret is exact if it is longer than all that were told, else within a bucket.
 */
void durations__take_new(struct durations *told, const struct durations *now,
			 struct durations *ret);

/*
 * The duration of rank ceil(total * permille / 1000). The error is at most 2 % for any distribution
 * above 128 ns and below 2^35 ns. False: too few durations; *ret_ns is unchanged.
 */
bool durations__quantile(const struct durations *d, unsigned permille, uint64_t *ret_ns);

/*
 * The next non-empty bucket, in rising order; the bucket with the threshold is split in two. *pos
 * starts at 0. False: no more. upper_ns of the last bucket is max_ns, or ~0 if that is not known.
 */
bool durations__next(const struct durations *d, size_t *pos, struct durations_bucket *ret);

/*
 * The number of durations from 2^i to 2^(i+1) ns. Durations below 128 ns count for i = 6, durations
 * from 2^34 ns on for i = 34. Elsewhere no bucket crosses a power of two.
 */
uint64_t durations__log2(const struct durations *d, unsigned i);

/* The smallest duration of a bucket, in ns; ~0 for JANK_HIST_BUCKETS. */
uint64_t durations__lower(unsigned bucket);

#endif
