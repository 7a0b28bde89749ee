/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loss counters by reason and by user. See loss.h. */
#include "model/loss.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "model/block.h"

void losses__add(struct losses *losses, int reason, uint64_t cnt)
{
	__atomic_fetch_add(&losses->cnt[reason], cnt, __ATOMIC_RELAXED);
}

void losses__add_memory(struct losses *losses)
{
	uint64_t cnt = alloc__failed_cnt();

	if (losses->cnt[LOSS_NO_MEMORY] < cnt)
		losses->cnt[LOSS_NO_MEMORY] = cnt;
}

static uint64_t read_cnt(const struct losses *losses, int reason)
{
	return __atomic_load_n(&losses->cnt[reason], __ATOMIC_RELAXED);
}

uint64_t losses__total(const struct losses *losses)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOSS_CNT; i++)
		sum += read_cnt(losses, i);
	return sum;
}

const char *loss__key(int reason)
{
	static const char *const keys[] = {
#define KERNEL_KEY(nr, NAME, key) [nr] = key,
		JANK_LOSSES(KERNEL_KEY)
#define USER_KEY(NAME, key) [LOSS_##NAME] = key,
			USER_LOSSES(USER_KEY)
	};

	return reason >= 0 && reason < LOSS_CNT ? keys[reason] : "unknown";
}

/* The entry of a reason; a new one has 0. NULL: out of memory. */
static struct block_loss *entry_of(struct block_loss **list, size_t *list_cnt, int reason)
{
	const char *key = loss__key(reason);
	struct block_loss *grown;

	for (size_t i = 0; i < *list_cnt; i++)
		if ((*list)[i].reason == key)
			return &(*list)[i];
	grown = reallocarray(*list, *list_cnt + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	*list = grown;
	grown[*list_cnt] = (struct block_loss){ key, 0 };
	return &grown[(*list_cnt)++];
}

int block__add_loss(struct block *block, int reason, uint64_t cnt)
{
	struct block_loss *loss = cnt ? entry_of(&block->lost, &block->lost_cnt, reason) : NULL;

	if (loss)
		loss->cnt += cnt;
	return cnt && !loss ? -ENOMEM : 0;
}

int losses__list(const struct losses *losses, struct block_loss **ret, size_t *ret_cnt)
{
	struct block_loss *list = NULL;
	size_t cnt = 0;

	if (losses__total(losses)) {
		list = calloc(LOSS_CNT, sizeof(*list));
		if (!list)
			return -ENOMEM;
	}
	for (int i = 0; i < LOSS_CNT && list; i++)
		if (read_cnt(losses, i))
			list[cnt++] = (struct block_loss){ loss__key(i), read_cnt(losses, i) };
	*ret = list;
	*ret_cnt = cnt;
	return 0;
}

int losses__set_listed(struct block_loss **list, size_t *list_cnt, int reason, uint64_t cnt)
{
	struct block_loss *loss = entry_of(list, list_cnt, reason);

	if (!loss)
		return -ENOMEM;
	loss->cnt = cnt;
	if (!cnt)
		*loss = (*list)[--*list_cnt];
	return 0;
}

int losses__add_since(struct block_loss **list, size_t *list_cnt, const struct losses *then,
		      const struct losses *now)
{
	for (int i = 0; i < LOSS_CNT; i++) {
		uint64_t cnt = read_cnt(now, i) - then->cnt[i];
		struct block_loss *loss = cnt ? entry_of(list, list_cnt, i) : NULL;

		if (cnt && !loss)
			return -ENOMEM;
		if (cnt)
			loss->cnt += cnt;
	}
	return 0;
}

/*
 * --- by user: a short list, searched from the start. Its first users are those that drop most
 * often.
 */

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
