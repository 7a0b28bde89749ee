/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums the weights of a block by state, system call and stack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/report/report.h"

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ?: "", b ?: "");
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Instructions of one function are equal. */
static int compare_frames(const Jankbpf__Frame *a, const Jankbpf__Frame *b)
{
	int res = compare_texts(a->function, b->function) ?: compare_texts(a->module, b->module);

	if (res || (a->function && *a->function))
		return res;
	return compare_numbers(a->offset, b->offset) ?: compare_numbers(a->address, b->address);
}

static int compare_samples(const Jankbpf__Sample *a, const Jankbpf__Sample *b)
{
	int res = 0;

	if (!a || !b)
		return !!a - !!b;
	res = compare_numbers(a->n_stack, b->n_stack) ?: compare_texts(a->syscall, b->syscall);
	for (size_t i = 0; !res && i < a->n_stack; i++)
		res = compare_frames(a->stack[i], b->stack[i]);
	return res;
}

static int same_first(const void *pa, const void *pb)
{
	const struct weight *a = pa, *b = pb;

	return compare_numbers(a->state, b->state) ?: compare_samples(a->sample, b->sample)
						  ?: compare_numbers(b->ns, a->ns);
}

static int longest_first(const void *pa, const void *pb)
{
	const struct merged *a = pa, *b = pb;

	return compare_numbers(b->ns, a->ns) ?: compare_numbers(a->state, b->state);
}

int merged__of(const Jankbpf__Block *block, struct merged **ret, size_t *ret_cnt)
{
	struct weight *weights;
	struct merged *list;
	size_t cnt, n = 0;
	int res = weights__of(block, &weights, &cnt);

	if (res)
		return res;
	qsort(weights, cnt, sizeof(*weights), same_first);
	list = calloc(cnt + 1, sizeof(*list));
	for (size_t i = 0; list && i < cnt; i++) {
		const struct weight *weight = &weights[i];

		if (!n || list[n - 1].state != weight->state ||
		    compare_samples(list[n - 1].sample, weight->sample))
			list[n++] = (struct merged){ weight->sample, weight->state, 0, 0 };
		list[n - 1].cnt += weight->cnt;
		list[n - 1].ns += weight->ns;
	}
	free(weights);
	if (!list)
		return -ENOMEM;
	qsort(list, n, sizeof(*list), longest_first);
	*ret = list;
	*ret_cnt = n;
	return 0;
}
