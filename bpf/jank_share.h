/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shares of users: the rule and a user's account, for both sides. From the second user on, a user
 * may hold at most JANK_SHARE_RATIO times what is free. One busy user then gets three quarters, two
 * get 3/7 each, and whoever holds little always finds room.
 */
#ifndef JANK_JANK_SHARE_H
#define JANK_JANK_SHARE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define JANK_SHARE_RATIO 3

/* What is dropped of a user over its share. X(number, NAME, field of the summary's list) */
#define JANK_SHARES(X)                                                                             \
	X(0, RECORD, records)                                                                      \
	X(1, STACK, stacks)                                                                        \
	X(2, THREAD, threads)
#define JANK_SHARE_CNT 3

#define JANK_X_SHARE(nr, NAME, field) JANK_SHARE_##NAME = nr,
enum { JANK_SHARES(JANK_X_SHARE) };
#undef JANK_X_SHARE

#define JANK_SHARE_USER_MAX 1024
#define JANK_SHARE_OTHERS   0xffffffffu /* account of users beyond, and of unknown ones */

/*
 * A user's account, by uid. Bytes are counted in periods, and only while the ring is more than a
 * quarter full: a period ends when the reader has passed its start, so all that is in the ring was
 * sent in the last two.
 */
struct jank_share {
	__u64 start_pos;     /* ring position of the period's start */
	__u64 bytes, before; /* sent in this period, and in the one before */
	__u64 thread_cnt;    /* in the table of threads */
	__u64 lost[JANK_SHARE_CNT];
};
_Static_assert(sizeof(struct jank_share) == 32 + 8 * JANK_SHARE_CNT, "jank_share");

/* Does a user who holds that much hold too much for more? */
static inline __attribute__((always_inline)) int jank_share__is_over(__u64 held, __u64 free)
{
	return held / JANK_SHARE_RATIO > free;
}

/*
 * What counts as free in the ring: the rest of its first half. One user then leaves room for the
 * stacks of others, which are shed from half or three quarters on. A user may always hold a little.
 */
static inline __attribute__((always_inline)) __u64 jank_share__ring_free(__u64 used, __u64 size)
{
	__u64 least = size / 64;

	return used + least < size / 2 ? size / 2 - used : least;
}

/* Starts a new period if the reader has passed the start of this one. */
static inline __attribute__((always_inline)) void
jank_share__renew(struct jank_share *share, __u64 reader_pos, __u64 writer_pos)
{
	if ((__s64)(reader_pos - share->start_pos) < 0)
		return;
	share->before = share->bytes;
	share->bytes = 0;
	share->start_pos = writer_pos;
}

/* An upper bound of the user's bytes in the ring. */
static inline __attribute__((always_inline)) __u64 jank_share__held(const struct jank_share *share)
{
	return share->bytes + share->before;
}

#endif
