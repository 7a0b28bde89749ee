/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A short list, searched from the start: its first users are those that drop most often. */
#include "model/over_share.h"

#include "model/block.h"

static struct over_share *find(struct over_shares *shares, uint32_t uid)
{
	for (size_t i = 0; i < shares->cnt; i++)
		if (shares->users[i].uid == uid)
			return &shares->users[i];
	return NULL;
}

static bool has_room(struct over_shares *shares)
{
	size_t known = shares->cnt - (find(shares, UID_UNKNOWN) ? 1 : 0);

	return known < OVER_SHARE_MAX;
}

void over_shares__add(struct over_shares *shares, uint32_t uid, unsigned kind, uint64_t cnt)
{
	struct over_share *user = find(shares, uid);

	if (!cnt)
		return;
	if (!user && uid != UID_UNKNOWN && !has_room(shares)) {
		uid = UID_UNKNOWN;
		user = find(shares, uid);
	}
	if (!user) {
		user = &shares->users[shares->cnt++];
		*user = (struct over_share){ .uid = uid };
	}
	user->cnt[kind] += cnt;
}

uint64_t over_shares__total(const struct over_shares *shares)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < shares->cnt; i++)
		for (unsigned kind = 0; kind < JANK_SHARE_CNT; kind++)
			sum += shares->users[i].cnt[kind];
	return sum;
}
