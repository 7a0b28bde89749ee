/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Token bucket: limits a cost (CPU time, bytes) that traced programs cause, in total over time. All
 * zero: a full bucket. One thread, or under a lock.
 */
#ifndef JANK_FILES_BUCKET_H
#define JANK_FILES_BUCKET_H

#include <stdint.h>

struct bucket {
	uint64_t left, at_ns;
};

/* max: of what is saved; per_s: what is added each second, at most max. */
struct bucket_rate {
	uint64_t max, per_s;
};

/* Refills the bucket up to now_ns (CLOCK_MONOTONIC) and returns what is left. */
uint64_t bucket__left(struct bucket *bucket, struct bucket_rate rate, uint64_t now_ns);

/* Takes up to cost. */
void bucket__take(struct bucket *bucket, uint64_t cost);

#endif
