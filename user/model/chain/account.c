/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Only long spans are sent, and only after a traced dispatch has waited for conf.watch_ns. The
 * thread's times in two records tell how much of the time between them it ran, and waited for a
 * CPU. The rest are waits that were not sent: of the kind of the next one, if this is short, too;
 * else unknown. Records of an earlier version have no times: between them the thread ran, or waited
 * too shortly to matter. The time before the first span is unknown, unless a tick of the sampler
 * shows that the thread ran.
 */
#include "model/chain/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MAX 512 /* limit of compared ticks (quadratic) */

/* The thread's relevant records by time, and the position of the count. */
struct walk {
	const struct account_ask *ask;
	struct account *ret;
	const struct other_record **records;
	size_t cnt;
	uint64_t cursor;
	bool watched;			 /* a span ended: from here on, a long one would be sent */
	const struct other_record *last; /* the last one with times before the cursor; NULL: none */
	uint64_t longest_ns[JANK_STATE_CNT];
	struct {
		const struct other_record *record;
		uint64_t begin, end;
	} longest[JANK_STATE_CNT];
};

static const struct jank_rec_stack *rec_of(const struct other_record *record)
{
	return &record->event.rec;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t end_of(const struct other_record *record)
{
	return add(rec_of(record)->t_ns, rec_of(record)->ns);
}

static bool is_span(const struct other_record *record)
{
	return rec_of(record)->ns;
}

static bool is_tick(const struct other_record *record)
{
	return !is_span(record) && !(rec_of(record)->hdr.flags & JANK_STACK_WAKES);
}

static int by_time(const void *a, const void *b)
{
	const struct jank_rec_stack *x = rec_of(*(const struct other_record *const *)a);
	const struct jank_rec_stack *y = rec_of(*(const struct other_record *const *)b);

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/*
 * Collects the records of this thread (same tgid) that end in the interval or later: a later record
 * shows that the thread was observed until then.
 */
static int gather(const struct thread_history *history, struct walk *walk)
{
	const struct other_record *newest = thread_history__newest(history, walk->ask->tid),
				  *record;
	size_t cnt = 0;

	for (record = newest; record; record = record->older)
		cnt++;
	walk->records = calloc(cnt ? cnt : 1, sizeof(struct other_record *));
	if (!walk->records)
		return -ENOMEM;
	for (record = newest; record; record = record->older)
		if (rec_of(record)->hdr.tgid == walk->ask->tgid &&
		    end_of(record) >= walk->ask->begin)
			walk->records[walk->cnt++] = record;
	if (walk->cnt)
		qsort(walk->records, walk->cnt, sizeof(struct other_record *), by_time);
	return 0;
}

/* Has it the thread's times? */
static bool has_times(const struct other_record *record)
{
	const struct jank_rec_stack *rec = rec_of(record);

	return rec->hdr.kind == JANK_REC_OTHER && !is_tick(record) && rec->waker.ns;
}

/* Counts from the cursor, or from `from` if that is later, to `to`. */
static void count(struct walk *walk, const struct other_record *record, uint32_t state,
		  uint64_t from, uint64_t to)
{
	uint64_t begin = from > walk->cursor ? from : walk->cursor;
	uint64_t end = to < walk->ask->end ? to : walk->ask->end;

	if (begin >= end)
		return;
	walk->cursor = end;
	walk->ret->part_ns[state] += end - begin;
	if (!record || end - begin <= walk->longest_ns[state])
		return;
	walk->longest_ns[state] = end - begin;
	walk->longest[state].record = record;
	walk->longest[state].begin = begin;
	walk->longest[state].end = end;
}

static void count_span(struct walk *walk, const struct other_record *record)
{
	const struct jank_rec_stack *rec = rec_of(record);
	uint64_t end = end_of(record);
	uint64_t runnable = rec->runnable_ns < rec->ns ? rec->runnable_ns : rec->ns;
	uint64_t *part_ns = &walk->ret->part_ns[JANK_STATE_RUNNABLE], before_ns;

	count(walk, record, rec->state, rec->t_ns, end - runnable);
	before_ns = *part_ns;
	count(walk, record, JANK_STATE_RUNNABLE, end - runnable, end);
	if (rec->hdr.flags & JANK_STACK_THROTTLED)
		walk->ret->throttled_ns += *part_ns - before_ns;
	walk->watched = true;
}

/* ns of the part of total_ns that is a share of len of whole */
static uint64_t share(uint64_t ns, uint64_t len, uint64_t whole)
{
	return whole ? (uint64_t)((double)ns * (double)len / (double)whole) : 0;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Counts the time up to `to`, at most until `next`, by the times of `next` and the last one. */
static void count_by_times(struct walk *walk, const struct other_record *next, uint64_t to)
{
	const struct jank_rec_stack *a = rec_of(walk->last), *b = rec_of(next);
	uint64_t whole = minus(b->t_ns, end_of(walk->last)), begin = walk->cursor;
	uint64_t len = minus(to, begin);
	uint64_t ran = minus(b->waker.ns, a->waker.ns);
	uint64_t delay = minus(b->delay_ns, add(a->delay_ns, b->runnable_ns));
	bool knows_rest = is_span(next) && b->ns < JANK_OTHER_SHORT_NS &&
			  b->state >= JANK_STATE_FIRST_BLOCKED;

	ran = ran < whole ? ran : whole;
	delay = delay < whole - ran ? delay : whole - ran;
	count(walk, NULL, JANK_STATE_RUNNING, begin, begin + share(ran, len, whole));
	count(walk, NULL, JANK_STATE_RUNNABLE, walk->cursor,
	      walk->cursor + share(delay, len, whole));
	if (knows_rest)
		count(walk, NULL, b->state, walk->cursor, to);
	if (to > walk->cursor)
		walk->cursor = to;
}

/*
 * Counts the time up to `to` without a span. next: the record there or after; NULL: none. seen: the
 * thread is known to have run.
 */
static void count_gap(struct walk *walk, const struct other_record *next, uint64_t to, bool seen)
{
	if (walk->last) {
		if (next && has_times(next))
			count_by_times(walk, next, to);
		else if (to > walk->cursor)
			walk->cursor = to;
	} else if (seen)
		count(walk, NULL, JANK_STATE_RUNNING, walk->cursor, to);
	else if (to > walk->cursor)
		walk->cursor = to;
}

static void count_all(struct walk *walk)
{
	const struct account_ask *ask = walk->ask;
	bool ran = false; /* since the cursor */

	walk->cursor = ask->begin;
	for (size_t i = 0; i < walk->cnt; i++) {
		const struct other_record *record = walk->records[i];
		uint64_t t_ns = rec_of(record)->t_ns;

		if (is_tick(record)) {
			ran = ran || (t_ns < ask->end && t_ns >= walk->cursor);
			continue;
		}
		if (t_ns >= ask->end) {
			count_gap(walk, record, ask->end, ran || walk->watched);
			return;
		}
		if (!is_span(record) && !walk->last)
			continue;
		count_gap(walk, record, t_ns, ran || walk->watched);
		if (is_span(record))
			count_span(walk, record);
		walk->last = has_times(record) ? record : NULL;
		ran = false;
	}
	count_gap(walk, NULL, ask->end, ran || (ask->ran_last && walk->watched));
}

/* True if both have the same callers; the innermost address may differ. */
static bool is_same_way(const struct stack_event *a, const struct stack_event *b)
{
	const uint64_t *x = a->addresses + a->rec.kernel_cnt, *y = b->addresses + b->rec.kernel_cnt;
	size_t cnt = a->rec.user_cnt;

	if (cnt != b->rec.user_cnt)
		return false;
	return cnt < 2 || !memcmp(x + 1, y + 1, (cnt - 1) * sizeof(*x));
}

static bool counts_as_tick(const struct walk *walk, const struct other_record *record)
{
	uint64_t t_ns = rec_of(record)->t_ns;

	return is_tick(record) && t_ns >= walk->ask->begin && t_ns < walk->ask->end;
}

static void find_tick(struct walk *walk)
{
	const struct other_record *ticks[TICK_MAX];
	size_t cnt = 0, most = 0;

	for (size_t i = 0; i < walk->cnt && cnt < TICK_MAX; i++)
		if (counts_as_tick(walk, walk->records[i]))
			ticks[cnt++] = walk->records[i];
	for (size_t i = 0; i < cnt; i++) {
		size_t same = 0;

		for (size_t j = i; j < cnt; j++)
			same += is_same_way(&ticks[i]->event, &ticks[j]->event);
		if (same > most) {
			most = same;
			walk->ret->tick = ticks[i];
		}
	}
}

static void find_largest(struct walk *walk)
{
	struct account *ret = walk->ret;
	uint64_t most = 0;

	ret->state = JANK_STATE_CNT;
	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		if (ret->part_ns[i] > most) {
			most = ret->part_ns[i];
			ret->state = i;
		}
	if (ret->state == JANK_STATE_CNT)
		return;
	ret->span = walk->longest[ret->state].record;
	ret->span_begin = walk->longest[ret->state].begin;
	ret->span_end = walk->longest[ret->state].end;
}

int account__of(const struct thread_history *history, const struct account_ask *ask,
		struct account *ret)
{
	struct walk walk = { .ask = ask, .ret = ret };

	*ret = (struct account){ 0 };
	if (gather(history, &walk))
		return -ENOMEM;
	count_all(&walk);
	for (size_t i = 0; i < walk.cnt && rec_of(walk.records[i])->t_ns < ask->end; i++)
		if (rec_of(walk.records[i])->prio)
			ret->prio = rec_of(walk.records[i])->prio;
	find_largest(&walk);
	find_tick(&walk);
	free(walk.records);
	return 0;
}
