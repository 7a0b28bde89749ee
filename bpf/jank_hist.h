/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Histogram of durations, for BPF and user space. It has JANK_HIST_OCTAVE buckets to the octave,
 * all of nearly the same relative width (3.4 to 3.7 %). The middle of a bucket therefore errs by
 * less than 2 %, whatever the distribution in the bucket.
 *
 * The bucket approximates the base-2 logarithm between two powers of two by a parabola: with m = ns
 * / 2^e - 1, it is floor(OCTAVE * m * (4 - m) / 3). That is 0 at m = 0 and OCTAVE at m = 1, and
 * with OCTAVE = 3 * 7 it needs no division. A straight line (as in HdrHistogram) needs 32 buckets
 * for the same error, because its relative widths differ by a factor of 2.
 */
#ifndef JANK_JANK_HIST_H
#define JANK_JANK_HIST_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define JANK_HIST_OCTAVE  21
#define JANK_HIST_FIRST	  7  /* bucket 0 counts durations below 2^7 ns */
#define JANK_HIST_LAST	  35 /* the last bucket begins below 2^35 ns and counts everything longer */
#define JANK_HIST_BUCKETS (1 + JANK_HIST_OCTAVE * (JANK_HIST_LAST - JANK_HIST_FIRST))

/*
 * Counters have 32 bits. When one reaches this value, the histogram is sent and starts again at 0
 * (thread__flush).
 */
#define JANK_HIST_FULL (1u << 31)

struct jank_hist {
	__u64 max_ns;	/* exact; 0: not known */
	__u64 over_cnt; /* durations over edge_ns, in any bucket */
	__u64 edge_ns;	/* the threshold; set when the record is sent; 0: not known */
	__u32 cnt[JANK_HIST_BUCKETS];
	__u32 pad;
};
_Static_assert(sizeof(struct jank_hist) == 24 + 4 * JANK_HIST_BUCKETS + 4, "jank_hist");

/*
 * floor(log2(ns)); 0 for 0. BPF has no count-leading-zeros. Without branches, which the verifier
 * would walk in all combinations: sets all bits below the highest one, and counts them.
 */
static inline __attribute__((always_inline)) __u32 jank_hist__log2(__u64 ns)
{
	ns >>= 1;
	ns |= ns >> 1;
	ns |= ns >> 2;
	ns |= ns >> 4;
	ns |= ns >> 8;
	ns |= ns >> 16;
	ns |= ns >> 32;
	ns -= ns >> 1 & 0x5555555555555555;
	ns = (ns & 0x3333333333333333) + (ns >> 2 & 0x3333333333333333);
	ns = (ns + (ns >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return ns * 0x0101010101010101 >> 56;
}

/* Returns the bucket of a duration in ns; log2 is jank_hist__log2(ns). */
static inline __attribute__((always_inline)) __u64 jank_hist__bucket(__u64 ns, __u64 log2)
{
	__u64 m;

	if (log2 < JANK_HIST_FIRST)
		return 0;
	if (log2 >= JANK_HIST_LAST)
		return JANK_HIST_BUCKETS - 1;
	m = ((ns << (63 - log2)) & ~(1ull << 63)) >> 47; /* 16 bits of fraction */
	return 1 + (log2 - JANK_HIST_FIRST) * JANK_HIST_OCTAVE +
	       ((JANK_HIST_OCTAVE / 3 * m * ((4 << 16) - m)) >> 32);
}

#endif
