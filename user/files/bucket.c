/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refilled on demand; see bucket.h. */
#include "files/bucket.h"

#include "base/clock.h"

uint64_t bucket__left(struct bucket *bucket, struct bucket_rate rate, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - bucket->at_ns;
	double added = (double)elapsed_ns / NS_PER_SEC * (double)rate.per_s;

	/* the rate may have been lowered since */
	if (!bucket->at_ns || bucket->left >= rate.max ||
	    added >= (double)(rate.max - bucket->left))
		bucket->left = rate.max;
	else
		bucket->left += (uint64_t)added;
	bucket->at_ns = now_ns;
	return bucket->left;
}

void bucket__take(struct bucket *bucket, uint64_t cost)
{
	bucket->left -= cost < bucket->left ? cost : bucket->left;
}
