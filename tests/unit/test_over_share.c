/* SPDX-License-Identifier: GPL-2.0 */
/* What was dropped is counted by user; the list is bounded, and its sum is exact. */
#include "model/loss.h"

#include "model/block.h"
#include "tests/tap.h"

static uint64_t of(const struct over_shares *shares, uint32_t uid, unsigned kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < shares->cnt; i++)
		if (shares->users[i].uid == uid)
			sum += shares->users[i].cnt[kind];
	return sum;
}

static void test_counts(void)
{
	struct over_shares shares = { 0 };

	over_shares__add(&shares, 1000, JANK_SHARE_RECORD, 0);
	is_uint(shares.cnt, 0, "nothing dropped: no entry");
	over_shares__add(&shares, 1000, JANK_SHARE_RECORD, 2);
	over_shares__add(&shares, 0, JANK_SHARE_STACK, 5);
	over_shares__add(&shares, 1000, JANK_SHARE_RECORD, 3);
	over_shares__add(&shares, 1000, JANK_SHARE_THREAD, 1);
	is_uint(shares.cnt, 2, "an entry for each user");
	is_uint(of(&shares, 1000, JANK_SHARE_RECORD), 5, "counts of a kind are added");
	is_uint(of(&shares, 1000, JANK_SHARE_THREAD), 1, "each kind by itself");
	is_uint(of(&shares, 1000, JANK_SHARE_STACK), 0, "a kind that was not dropped");
	is_uint(of(&shares, 0, JANK_SHARE_STACK), 5, "root is a user");
	is_uint(over_shares__total(&shares), 11, "the sum of all");
}

static void fill(struct over_shares *shares)
{
	for (uint32_t uid = 0; uid < 10 * OVER_SHARE_MAX; uid++)
		over_shares__add(shares, uid, JANK_SHARE_STACK, 1);
}

static void test_bound(void)
{
	struct over_shares shares = { 0 };

	fill(&shares);
	is_uint(shares.cnt, OVER_SHARE_MAX + 1, "the list is bounded");
	is_uint(of(&shares, OVER_SHARE_MAX - 1, JANK_SHARE_STACK), 1, "the first users are listed");
	is_uint(of(&shares, UID_UNKNOWN, JANK_SHARE_STACK), 9 * OVER_SHARE_MAX,
		"the others are counted together");
	over_shares__add(&shares, 3, JANK_SHARE_STACK, 4);
	is_uint(of(&shares, 3, JANK_SHARE_STACK), 5, "a listed user still counts for itself");

	shares = (struct over_shares){ 0 };
	over_shares__add(&shares, UID_UNKNOWN, JANK_SHARE_STACK, 7);
	fill(&shares);
	is_uint(shares.cnt, OVER_SHARE_MAX + 1, "the same after an unknown user");
	is_uint(of(&shares, OVER_SHARE_MAX - 1, JANK_SHARE_STACK), 1, "as many users are listed");
	is_uint(of(&shares, UID_UNKNOWN, JANK_SHARE_STACK), 9 * OVER_SHARE_MAX + 7,
		"the others are added to it");
}

int main(void)
{
	test_counts();
	test_bound();
	return tap__done();
}
