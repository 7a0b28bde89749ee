/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "enrich/uv_pool.h"

#include <stddef.h>

static const struct uv_thread *find(const struct uv_look *look, uint32_t tid)
{
	for (uint32_t i = 0; i < look->thread_cnt; i++)
		if (look->threads[i].tid == tid)
			return &look->threads[i];
	return NULL;
}

static bool is_same_job(const struct uv_look *last, const struct uv_thread *before,
			const struct uv_thread *now)
{
	if (before->rests || now->rests)
		return false;
	if (now->call >= 0 && now->call == before->call && now->sleep_cnt == before->sleep_cnt)
		return true;
	return last->loops_sleep && now->write_cnt == before->write_cnt &&
	       now->write_cnt != UINT64_MAX;
}

/* Later looks can be compared with it: its threads sleep, or its loops do. */
static bool is_base(const struct uv_look *look)
{
	for (uint32_t i = 0; i < look->thread_cnt && !look->loops_sleep; i++)
		if (!look->threads[i].rests && look->threads[i].call < 0)
			return false;
	return true;
}

bool uv_pool__follow(struct uv_pool *pool, struct uv_look *look)
{
	bool ret = false;

	for (uint32_t i = 0; i < look->thread_cnt; i++) {
		struct uv_thread *now = &look->threads[i];
		const struct uv_thread *before = find(&pool->last, now->tid);

		now->since_ns = look->end_ns;
		if (!before || !is_same_job(&pool->last, before, now))
			continue;
		now->since_ns = before->since_ns;
		ret = true;
	}
	if (is_base(look) || !pool->last.thread_cnt)
		pool->last = *look;
	return ret;
}

static uint32_t count_resting(const struct uv_look *look)
{
	uint32_t ret = 0;

	for (uint32_t i = 0; i < look->thread_cnt; i++)
		ret += look->threads[i].rests;
	return ret;
}

/* How many threads are at work, if no other one may take more; else 0. */
static uint32_t exhausted(const struct uv_look *look)
{
	uint32_t resting = count_resting(look), most = (look->thread_cnt + 1) / 2;

	if (!look->idle_cnt)
		return resting ? 0 : look->thread_cnt;
	if (look->slow_cnt != most || !look->slow_waits || resting != look->idle_cnt ||
	    resting + most != look->thread_cnt)
		return 0;
	return most;
}

/* From when on each busy thread is in its job, and in which call. */
static struct uv_period period_of(const struct uv_look *look, uint32_t busy)
{
	struct uv_period ret = { .busy = busy, .of = look->thread_cnt };
	bool first = true;

	for (uint32_t i = 0; i < look->thread_cnt; i++) {
		const struct uv_thread *thread = &look->threads[i];

		if (thread->rests)
			continue;
		if (thread->since_ns > ret.begin_ns)
			ret.begin_ns = thread->since_ns;
		ret.call = first || ret.call == thread->call ? thread->call : UV_CALL_MIXED;
		first = false;
	}
	ret.ns = look->end_ns - ret.begin_ns;
	return ret;
}

void uv_pool__judge(struct uv_pool *pool, const struct uv_look *look, uint64_t threshold_ns)
{
	struct uv_period next = { .busy = exhausted(look) };
	bool goes_on, was_over;

	if (next.busy)
		next = period_of(look, next.busy);
	goes_on = next.busy && next.busy == pool->now.busy && next.begin_ns == pool->now.begin_ns;
	was_over = goes_on && pool->now.ns > threshold_ns;
	if (goes_on && next.call != pool->now.call)
		next.call = UV_CALL_MIXED;
	pool->over_cnt += !was_over && next.ns > threshold_ns;
	pool->now = next;
	if (next.ns > pool->longest.ns)
		pool->longest = next;
}

void uv_pool__has_room(struct uv_pool *pool)
{
	pool->last.thread_cnt = 0;
	pool->now = (struct uv_period){};
}
