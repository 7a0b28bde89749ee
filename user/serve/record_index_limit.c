/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an index has no room for: the oldest records, but for the worst blocks. Which records are
 * one block: a dispatch has several hangs, and a block at its end.
 */
#include "serve/record_index.h"

#include <errno.h>
#include <stdlib.h>

/* A hang by its id. */
struct hang {
	uint64_t id;
	struct indexed_record *at;
};

struct hangs {
	struct hang *list;
	size_t cnt;
};

static size_t total(const struct record_index *index)
{
	size_t cnt = 0;

	for (int i = 0; i < FILE_CNT; i++)
		cnt += index->files[i].cnt;
	return cnt;
}

bool record_index__is_full(const struct record_index *index)
{
	return total(index) >= index->limit;
}

/* --- hangs that a later record of the same dispatch replaces */

static int by_id(const void *pa, const void *pb)
{
	const struct hang *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->at->seq > b->at->seq) - (a->at->seq < b->at->seq);
}

static void add_hang(struct indexed_record *at, void *ctx)
{
	struct hangs *hangs = ctx;

	at->replaced = false;
	if (at->kind == KIND_HANG && at->id && !at->doomed)
		hangs->list[hangs->cnt++] = (struct hang){ at->id, at };
}

static void replace_hangs(struct indexed_record *at, void *ctx)
{
	const struct hangs *hangs = ctx;
	size_t low = 0, high = hangs->cnt;

	if (at->kind != KIND_BLOCK || at->doomed)
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (hangs->list[middle].id < at->id)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < hangs->cnt && hangs->list[low].id == at->id; low++)
		hangs->list[low].at->replaced = true;
}

static void each(struct record_index *index, void (*fn)(struct indexed_record *at, void *ctx),
		 void *ctx)
{
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++)
			fn(&index->files[i].records[n], ctx);
}

int record_index__mark_replaced(struct record_index *index)
{
	struct hangs hangs = { .list = calloc(total(index) + 1, sizeof(*hangs.list)) };

	if (!hangs.list)
		return -ENOMEM;
	each(index, add_hang, &hangs);
	qsort(hangs.list, hangs.cnt, sizeof(*hangs.list), by_id);
	for (size_t i = 0; i + 1 < hangs.cnt; i++)
		hangs.list[i].at->replaced = hangs.list[i].id == hangs.list[i + 1].id;
	if (hangs.cnt)
		each(index, replace_hangs, &hangs);
	free(hangs.list);
	return 0;
}

/* --- room */

/* Which old records stay. */
struct kept {
	uint64_t seq;	   /* all from here on */
	uint64_t delay_ns; /* and blocks that are longer */
	size_t equal;	   /* as well as some that are just as long */
};

static bool is_kept(struct kept *kept, const struct indexed_record *at)
{
	if (at->kind == KIND_ODD)
		return false;
	if (at->seq >= kept->seq)
		return true;
	if (!indexed_record__is_shown(at) || at->delay_ns < kept->delay_ns)
		return false;
	if (at->delay_ns > kept->delay_ns)
		return true;
	return kept->equal && kept->equal--;
}

static bool compact(struct indexed_file *file, struct kept *kept)
{
	size_t to = 0;
	bool some = false;

	for (size_t n = 0; n < file->cnt; n++) {
		const struct indexed_record *at = &file->records[n];

		if (is_kept(kept, at)) {
			file->records[to++] = *at;
			continue;
		}
		file->left_cnt++;
		file->left_blocks += indexed_record__is_shown(at);
		some |= indexed_record__is_shown(at);
	}
	file->cnt = to;
	return some;
}

static void compact_all(struct record_index *index, struct kept *kept)
{
	bool some = false;

	for (int i = 0; i < FILE_CNT; i++)
		some |= compact(&index->files[i], kept);
	index->version += some;
}

static size_t cnt_from(const struct record_index *index, uint64_t seq)
{
	size_t cnt = 0;

	for (int i = 0; i < FILE_CNT; i++)
		cnt += index->files[i].cnt - indexed_file__position(&index->files[i], seq);
	return cnt;
}

/* The first number from which on there are at most max records. */
static uint64_t newest(const struct record_index *index, size_t max)
{
	uint64_t low = 0, high = index->next_seq;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (cnt_from(index, middle) > max)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int by_delay(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a < b) - (a > b);
}

/* Sets the least delay of the old blocks that stay. */
static int find_worst(struct record_index *index, struct kept *kept)
{
	uint64_t *delays = calloc(total(index) + 1, sizeof(*delays));
	size_t cnt = 0, max = index->limit / WORST_PART;

	if (!delays)
		return -ENOMEM;
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++) {
			const struct indexed_record *at = &index->files[i].records[n];

			if (at->seq < kept->seq && indexed_record__is_shown(at))
				delays[cnt++] = at->delay_ns;
		}
	qsort(delays, cnt, sizeof(*delays), by_delay);
	if (cnt > max) {
		kept->delay_ns = delays[max];
		while (kept->equal < max && delays[max - 1 - kept->equal] == delays[max])
			kept->equal++;
	}
	free(delays);
	return 0;
}

int record_index__leave_out(struct record_index *index)
{
	struct kept readable = {}, kept = {};
	int res = record_index__mark_replaced(index);

	if (res)
		return res;
	compact_all(index, &readable);
	if (total(index) <= index->limit / 2)
		return 0;
	kept.seq = newest(index, index->limit / 2);
	res = find_worst(index, &kept);
	if (!res)
		compact_all(index, &kept);
	return res;
}
