/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a row shows, and the order of rows and faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/top/loops.h"

const char *const loop_order_names[LOOP_ORDERS] = {
	[BY_STALLED] = "stalled", [BY_BLOCKS] = "blocks", [BY_DISPATCHES] = "dispatches",
	[BY_P99] = "p99",	  [BY_MAX] = "max",	  [BY_OPEN] = "open",
	[BY_PROCESS] = "process",
};

static unsigned recent_cells(const struct stalls_clock *clock)
{
	uint64_t cells = RECENT_NS / clock->cell_ns;

	if (!cells)
		cells = 1;
	return cells < clock->cnt ? (unsigned)cells : clock->cnt;
}

static void add_quantiles(const struct watched_loop *loop, struct loop_values *ret)
{
	struct durations sum = loop->dispatches[1];

	durations__merge(&sum, &loop->dispatches[0]);
	ret->has_p50 = durations__quantile(&sum, 500, &ret->p50_ns);
	ret->has_p99 = durations__quantile(&sum, 990, &ret->p99_ns);
	ret->max_ns = sum.max_ns;
	sum = loop->starts[1];
	durations__merge(&sum, &loop->starts[0]);
	ret->has_start = sum.total;
	if (!durations__quantile(&sum, 990, &ret->start_ns))
		ret->start_ns = sum.max_ns;
}

void watched_loop__rates(const struct loops_view *v, const struct watched_loop *loop,
			 struct loop_values *ret)
{
	unsigned cells = recent_cells(&v->clock);
	double ns = (double)cells * (double)v->clock.cell_ns;
	uint64_t stalled_ns = stalls__stalled_ns(&loop->stalls, &v->clock, cells);

	*ret = (struct loop_values){ .open_ns = loop->open_ns };
	if (v->elapsed_ns)
		ret->dispatches_per_s = (double)loop->dispatch_cnt * 1e9 / (double)v->elapsed_ns;
	if (loop->open_ns > v->threshold_ns) /* its block is not reported yet */
		stalled_ns += loop->open_ns;
	if (cells) {
		ret->blocks_per_min =
			(double)stalls__blocks(&loop->stalls, &v->clock, cells) * 60e9 / ns;
		ret->stalled = (double)stalled_ns / ns;
	}
	if (ret->stalled > 1)
		ret->stalled = 1;
}

void watched_loop__values(const struct loops_view *v, const struct watched_loop *loop,
			  struct loop_values *ret)
{
	watched_loop__rates(v, loop, ret);
	add_quantiles(loop, ret);
}

/* --- lists */

struct sortable {
	struct watched_loop *loop;
	struct loop_values values;
	enum loop_order order;
};

static double weight(const struct sortable *s)
{
	switch (s->order) {
	case BY_BLOCKS:
		return s->values.blocks_per_min;
	case BY_DISPATCHES:
		return s->values.dispatches_per_s;
	case BY_P99:
		return s->values.has_p99 ? (double)s->values.p99_ns : 0;
	case BY_MAX:
		return (double)s->values.max_ns;
	case BY_OPEN:
		return (double)s->values.open_ns;
	case BY_PROCESS:
		return 0;
	default:
		return s->values.stalled;
	}
}

static int compare(const void *a, const void *b)
{
	const struct sortable *x = a, *y = b;
	double more = weight(y) - weight(x);
	int res = 0;

	if (more != 0)
		return more > 0 ? 1 : -1;
	if (x->order != BY_PROCESS)
		more = y->values.dispatches_per_s - x->values.dispatches_per_s;
	if (more != 0)
		return more > 0 ? 1 : -1;
	if (x->loop->process && y->loop->process)
		res = strcmp(x->loop->process, y->loop->process);
	if (res)
		return res;
	return x->loop->pid < y->loop->pid ? -1 : x->loop->pid > y->loop->pid;
}

static bool has_text(const struct watched_loop *loop, const char *text)
{
	char pid[16];

	if (!text || !*text)
		return true;
	snprintf(pid, sizeof(pid), "%u", loop->pid);
	return strcasestr(loop->loop, text) || !strcmp(pid, text) ||
	       (loop->process && strcasestr(loop->process, text));
}

struct watched_loop **loops_view__list(const struct loops_view *v, enum loop_order order,
				       const char *text, size_t *ret_cnt)
{
	struct sortable *sorted = calloc(groups__cnt(&v->loops) + 1, sizeof(*sorted));
	struct watched_loop **ret =
		calloc(groups__cnt(&v->loops) + 1, sizeof(struct watched_loop *));
	struct watched_loop *loop;
	size_t cnt = 0;

	*ret_cnt = 0;
	if (!sorted || !ret) {
		free(sorted);
		free(ret);
		return NULL;
	}
	GROUPS_EACH(&v->loops, loop)
	{
		if (!has_text(loop, text))
			continue;
		sorted[cnt].loop = loop;
		sorted[cnt].order = order;
		watched_loop__values(v, loop, &sorted[cnt++].values);
	}
	qsort(sorted, cnt, sizeof(*sorted), compare);
	for (size_t i = 0; i < cnt; i++)
		ret[i] = sorted[i].loop;
	free(sorted);
	*ret_cnt = cnt;
	return ret;
}

static int most_time_first(const void *a, const void *b)
{
	const struct loop_fault *x = *(struct loop_fault *const *)a;
	const struct loop_fault *y = *(struct loop_fault *const *)b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	if (x->max_ns != y->max_ns) /* hangs that have not ended */
		return x->max_ns < y->max_ns ? 1 : -1;
	return strcmp(x->signature, y->signature);
}

static int add_faults(struct loop_fault ***list, size_t *cnt, const struct watched_loop *loop)
{
	struct loop_fault **longer =
		reallocarray(*list, *cnt + groups__cnt(&loop->faults) + 1, sizeof(**list));
	struct loop_fault *fault;

	if (!longer)
		return -1;
	*list = longer;
	GROUPS_EACH(&loop->faults, fault)
	if (!fault->muted)
		longer[(*cnt)++] = fault;
	return 0;
}

struct loop_fault **loops_view__faults(const struct loops_view *v, const struct watched_loop *loop,
				       size_t *ret_cnt)
{
	struct watched_loop *each;
	struct loop_fault **ret = NULL;
	int res = 0;

	*ret_cnt = 0;
	GROUPS_EACH(&v->loops, each)
	if (!res && (!loop || each == loop))
		res = add_faults(&ret, ret_cnt, each);
	if (res) {
		free(ret);
		*ret_cnt = 0;
		return NULL;
	}
	if (ret)
		qsort(ret, *ret_cnt, sizeof(struct loop_fault *), most_time_first);
	return ret;
}
