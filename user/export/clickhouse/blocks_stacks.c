/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of blocks, by a hash of their frames' names: the same stack has one row. */
#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/groups.h"
#include "export/clickhouse/rows.h"

static size_t frames_of(const struct frames *stack)
{
	return stack->cnt < ROW_FRAMES_MAX ? stack->cnt : ROW_FRAMES_MAX;
}

/* 63 bits, since readers of JSON often have signed integers. *sb is scratch memory. */
static uint64_t hash_of(const struct frames *stack, struct strbuf *sb)
{
	strbuf__reset(sb);
	for (size_t i = 0; i < frames_of(stack); i++) {
		frame__add_text(sb, stack->list[i]);
		strbuf__addc(sb, '\n');
	}
	return XXH64(strbuf__str(sb), sb->len, 0) >> 1;
}

int block__stacks(const Jankbpf__Block *block, struct row_stack *ret, size_t *ret_cnt)
{
	struct strbuf sb = STRBUF_INIT;
	struct fold *folds;
	size_t fold_cnt;
	int res = fold__block(block, &folds, &fold_cnt);

	*ret_cnt = 0;
	if (res)
		return res;
	for (size_t i = 0; i < fold_cnt && *ret_cnt < ROW_STACKS_MAX; i++) {
		const Jankbpf__Sample *sample = folds[i].sample;
		struct row_stack *stack = &ret[*ret_cnt];

		if (!sample->n_stack)
			continue;
		stack->frames = (struct frames){ sample->stack, sample->n_stack };
		stack->hash = hash_of(&stack->frames, &sb);
		stack->ns = folds[i].ns;
		++*ret_cnt;
	}
	res = sb.failed ? -ENOMEM : 0;
	strbuf__free(&sb);
	free(folds);
	return res;
}

/*
 * A month of stacks is dropped by itself, so each has those of its blocks. The server's time zone
 * says where a month begins; all are multiples of 15 minutes.
 */
#define QUARTER_NS (900 * NS_PER_SEC)

struct stack_key {
	uint64_t hash, quarter;
};

/* 1: it is new; 0; -ENOMEM. all: the stacks of the batch so far. */
static int is_new(struct groups *all, const struct stack_key *key)
{
	if (groups__find(all, key, sizeof(*key)))
		return 0;
	return groups__get(all, key, sizeof(*key)) ? 1 : -ENOMEM;
}

static void add_row(struct strbuf *out, const struct row_stack *stack, uint64_t real_ns)
{
	struct row row;

	row__open(&row, out);
	row__time(&row, real_ns);
	jsonw__key(&row.w, "hash");
	jsonw__u64(&row.w, stack->hash);
	jsonw__karray(&row.w, "frames");
	for (size_t i = 0; i < frames_of(&stack->frames); i++) {
		strbuf__reset(&row.scratch);
		frame__add_text(&row.scratch, stack->frames.list[i]);
		jsonw__str(&row.w, strbuf__str(&row.scratch));
	}
	jsonw__array_end(&row.w);
	row__end(&row);
}

static int add_block(struct strbuf *out, const Jankbpf__Block *block, struct groups *all)
{
	uint64_t real_ns = start__real_ns(block->start);
	struct row_stack stacks[ROW_STACKS_MAX];
	size_t cnt;
	int res = block__stacks(block, stacks, &cnt);

	for (size_t i = 0; i < cnt && res >= 0; i++) {
		res = is_new(all, &(struct stack_key){ stacks[i].hash, real_ns / QUARTER_NS });
		if (res > 0)
			add_row(out, &stacks[i], real_ns);
	}
	return res < 0 ? res : 0;
}

int stacks__encode(const struct batch *batch, struct strbuf *ret)
{
	struct groups all;
	size_t before = ret->len;
	int res = 0;

	groups__init(&all, sizeof(struct group_node), SIZE_MAX, NULL);
	for (size_t i = 0; i < batch->record_cnt && !res; i++) {
		const Jankbpf__Record *record = batch->records[i];

		if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK)
			res = add_block(ret, record->block, &all);
		else if (record->type_case == JANKBPF__RECORD__TYPE_HANG)
			res = add_block(ret, record->hang, &all);
	}
	groups__free(&all);
	if (res || ret->failed)
		return -ENOMEM;
	return ret->len == before ? -ENODATA : 0;
}
