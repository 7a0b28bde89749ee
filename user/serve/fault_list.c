/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/fault_list.h"

#include <errno.h>
#include <stdlib.h>

#include "export/json/json.h"

#define NUMBER_MAX (1ull << 53) /* integers above are not exact in JavaScript */

static int by_fault(const void *pa, const void *pb)
{
	const struct listed_block *a = pa, *b = pb;

	if (a->sig != b->sig)
		return a->sig < b->sig ? -1 : 1;
	if (a->delay_ns != b->delay_ns)
		return a->delay_ns > b->delay_ns ? -1 : 1;
	return (a->seq < b->seq) - (a->seq > b->seq);
}

static int by_delay(const void *pa, const void *pb)
{
	const struct listed_block *a = pa, *b = pb;

	if (a->delay_ns != b->delay_ns)
		return a->delay_ns > b->delay_ns ? -1 : 1;
	return (a->seq < b->seq) - (a->seq > b->seq);
}

static int by_number(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

int fault_list__make(struct record_index *index, struct listed_block **ret, size_t *ret_cnt)
{
	size_t cnt = 0;
	int res = record_index__mark_replaced(index);

	*ret_cnt = 0;
	for (int i = 0; i < FILE_CNT; i++)
		cnt += index->files[i].cnt;
	*ret = res ? NULL : calloc(cnt + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (int i = 0; i < FILE_CNT; i++)
		for (size_t n = 0; n < index->files[i].cnt; n++) {
			const struct indexed_record *at = &index->files[i].records[n];

			if (indexed_record__is_shown(at))
				(*ret)[(*ret_cnt)++] =
					(struct listed_block){ at->sig, at->delay_ns, at->seq };
		}
	qsort(*ret, *ret_cnt, sizeof(**ret), by_fault);
	return 0;
}

/* Moves the worst block of each fault to the front. Returns their number. */
static size_t take_firsts(struct listed_block *list, size_t cnt)
{
	size_t firsts = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct listed_block one = list[i];

		if (firsts && one.sig == list[firsts - 1].sig)
			continue;
		list[i] = list[firsts];
		list[firsts++] = one;
	}
	return firsts;
}

size_t fault_list__worst(struct listed_block *list, size_t cnt, uint64_t before, uint64_t *ret,
			 size_t max)
{
	size_t firsts = take_firsts(list, cnt), ret_cnt = 0;

	qsort(list, firsts, sizeof(*list), by_delay);
	qsort(list + firsts, cnt - firsts, sizeof(*list), by_delay);
	for (size_t i = 0; i < cnt && ret_cnt < max; i++)
		if (list[i].seq < before)
			ret[ret_cnt++] = list[i].seq;
	qsort(ret, ret_cnt, sizeof(*ret), by_number);
	return ret_cnt;
}

static void add_number(struct jsonw *w, const char *key, uint64_t v)
{
	jsonw__key(w, key);
	jsonw__u64(w, v > NUMBER_MAX ? NUMBER_MAX : v);
}

void fault_list__add_json(struct strbuf *sb, const struct listed_block *list, size_t cnt)
{
	struct jsonw w;

	jsonw__init(&w, sb);
	jsonw__array(&w);
	for (size_t begin = 0, end; begin < cnt; begin = end) {
		uint64_t sum = 0;

		for (end = begin; end < cnt && list[end].sig == list[begin].sig; end++)
			if (__builtin_add_overflow(sum, list[end].delay_ns, &sum))
				sum = NUMBER_MAX;
		jsonw__object(&w);
		add_number(&w, "worst", list[begin].seq);
		add_number(&w, "blocks", end - begin);
		add_number(&w, "total_ns", sum);
		add_number(&w, "max_ns", list[begin].delay_ns);
		add_number(&w, "p50_ns", list[begin + (end - begin) / 2].delay_ns);
		jsonw__object_end(&w);
	}
	jsonw__array_end(&w);
}
