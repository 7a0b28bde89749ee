/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of parts of the run: what each loop has done since the last one, and what is open. */
#include "session/interval.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/proto.h"

#define OPEN_MAX	 100 /* of a record */
#define OPEN_PART	 10  /* part of the threshold from which an open dispatch is listed */
#define OPEN_COLLECT_MAX 4096

int intervals__open(struct intervals *iv)
{
	iv->told = hists__new();
	return iv->told ? 0 : -ENOMEM;
}

void intervals__close(struct intervals *iv)
{
	hists__free(iv->told);
	free(iv->open);
	*iv = (struct intervals){};
}

void intervals__begin_look(struct intervals *iv)
{
	iv->open_cnt = 0;
	iv->open_more = 0;
}

int intervals__saw(struct intervals *iv, const struct jank_rec_thread *rec, uint64_t threshold_ns)
{
	struct open_dispatch *open = iv->open;
	size_t cap = iv->open_cap ? 2 * iv->open_cap : 64;

	if (!iv->told || rec->open_ns + rec->open_delay_ns < threshold_ns / OPEN_PART ||
	    rec->open_state >= JANK_STATE_CNT)
		return 0;
	if (iv->open_cnt >= OPEN_COLLECT_MAX) {
		iv->open_more++;
		return 0;
	}
	if (iv->open_cnt == iv->open_cap) {
		open = reallocarray(iv->open, cap, sizeof(*open));
		if (!open)
			return -ENOMEM;
		iv->open = open;
		iv->open_cap = cap;
	}
	open += iv->open_cnt++;
	*open = (struct open_dispatch){
		.pid = rec->hdr.tgid,
		.tid = rec->hdr.tid,
		.loop = rec->loop,
		.duration_ns = rec->open_ns,
		.delay_ns = rec->open_delay_ns,
		.state = rec->open_state,
	};
	memcpy(open->comm, rec->comm, sizeof(open->comm));
	open->comm[sizeof(open->comm) - 1] = '\0';
	return 0;
}

static int longest_first(const void *a, const void *b)
{
	const struct open_dispatch *x = a, *y = b;
	uint64_t x_ns = x->duration_ns + x->delay_ns, y_ns = y->duration_ns + y->delay_ns;

	return (x_ns < y_ns) - (x_ns > y_ns);
}

static bool has_loop(const struct interval *interval, const struct open_dispatch *open)
{
	for (size_t i = 0; i < interval->open_cnt; i++)
		if (interval->open[i].pid == open->pid && interval->open[i].loop == open->loop)
			return true;
	return false;
}

/*
 * The longest of each process and loop have room first: the metrics set a loop without an open
 * dispatch to 0.
 */
static void choose_open(const struct intervals *iv, struct interval *ret)
{
	bool taken[OPEN_COLLECT_MAX] = {};

	for (size_t i = 0; i < iv->open_cnt && ret->open_cnt < OPEN_MAX; i++)
		if (!has_loop(ret, &iv->open[i])) {
			ret->open[ret->open_cnt++] = iv->open[i];
			taken[i] = true;
		}
	for (size_t i = 0; i < iv->open_cnt && ret->open_cnt < OPEN_MAX; i++)
		if (!taken[i])
			ret->open[ret->open_cnt++] = iv->open[i];
	qsort(ret->open, ret->open_cnt, sizeof(*ret->open), longest_first);
}

static int copy_open(const struct intervals *iv, struct interval *ret)
{
	size_t cnt = iv->open_cnt < OPEN_MAX ? iv->open_cnt : OPEN_MAX;

	ret->facts.open_more = iv->open_more + iv->open_cnt - cnt;
	ret->facts.has_open_more = ret->facts.open_more;
	if (!cnt)
		return 0;
	qsort(iv->open, iv->open_cnt, sizeof(*iv->open), longest_first);
	ret->open = malloc(cnt * sizeof(*ret->open));
	if (!ret->open)
		return -ENOMEM;
	choose_open(iv, ret);
	return 0;
}

/* Losses since the last interval. */
static int new_losses(struct intervals *iv, const struct losses *now, struct interval *ret)
{
	struct losses more = {};

	for (int i = 0; i < LOSS_CNT; i++)
		more.cnt[i] = now->cnt[i] > iv->losses.cnt[i] ? now->cnt[i] - iv->losses.cnt[i] : 0;
	iv->losses = *now;
	return losses__list(&more, &ret->lost, &ret->lost_cnt);
}

int intervals__take(struct intervals *iv, const struct intervals_now *now, struct interval *ret)
{
	int res;

	*ret = (struct interval){
		.real_offset_ns = clock__real_offset_ns(),
		.facts = JANKBPF__INTERVAL__INIT,
		.cost = JANKBPF__COST__INIT,
	};
	SET(&ret->facts, start_ns, iv->end_ns);
	SET(&ret->facts, elapsed_ns, now->t_ns - iv->end_ns);
	SET(&ret->facts, threshold_ns, now->threshold_ns);
	SET(&ret->cost, user_cpu_ns, now->cpu_ns > iv->cpu_ns ? now->cpu_ns - iv->cpu_ns : 0);
	SET(&ret->cost, rss_kb, now->rss_kb);
	iv->end_ns = now->t_ns;
	iv->cpu_ns = now->cpu_ns > iv->cpu_ns ? now->cpu_ns : iv->cpu_ns;
	res = hists__take_new(iv->told, now->hists, &ret->loops, &ret->loop_cnt);
	if (!res)
		res = copy_open(iv, ret);
	return res ?: new_losses(iv, &now->losses, ret);
}
