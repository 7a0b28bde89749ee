/* SPDX-License-Identifier: GPL-2.0 */
/* libuv's pool: which looks prove that it was exhausted, and for how long. */
#include "enrich/uv_pool.h"

#include "tests/tap.h"

#define MS	  1000000ull
#define THRESHOLD (100 * MS)
#define OPENAT	  257
#define POLL	  7

/* A look at four threads, of which the first `busy` are in the call; the loops sleep. */
static struct uv_look look_at(uint64_t t_ms, uint32_t busy, int32_t call)
{
	struct uv_look look = {
		.end_ns = t_ms * MS, .thread_cnt = 4, .idle_cnt = 4 - busy, .loops_sleep = true
	};

	for (uint32_t i = 0; i < 4; i++)
		look.threads[i] = (struct uv_thread){ .tid = 10 + i,
						      .call = i < busy ? call : UV_CALL_NONE,
						      .sleep_cnt = 5,
						      .write_cnt = 7,
						      .rests = i >= busy };
	return look;
}

static void judge(struct uv_pool *pool, struct uv_look look)
{
	uv_pool__follow(pool, &look);
	uv_pool__judge(pool, &look, THRESHOLD);
}

static void test_exhausted(void)
{
	struct uv_pool pool = {};

	judge(&pool, look_at(1, 4, OPENAT));
	is_uint(pool.longest.ns, 0, "one look proves nothing");
	judge(&pool, look_at(100, 4, OPENAT));
	judge(&pool, look_at(2001, 4, OPENAT));
	is_uint(pool.longest.ns, 2000 * MS, "all are at work from the first look on");
	ok(pool.longest.busy == 4 && pool.longest.of == 4, "4 of 4");
	is_int(pool.longest.call, OPENAT, "in one call");
	is_uint(pool.over_cnt, 1, "counted once");
	judge(&pool, look_at(3000, 2, OPENAT));
	judge(&pool, look_at(4000, 4, UV_CALL_NONE));
	judge(&pool, look_at(4201, 4, UV_CALL_NONE));
	is_uint(pool.longest.ns, 2000 * MS, "the longest is kept");
	is_uint(pool.over_cnt, 2, "and the next one counted");
	uv_pool__has_room(&pool);
	judge(&pool, look_at(5000, 4, UV_CALL_NONE));
	is_uint(pool.now.ns, 0, "a free thread ends it");
}

static void test_not(void)
{
	struct uv_pool pool = {};
	struct uv_look look = look_at(3000, 4, OPENAT);

	judge(&pool, look_at(1, 0, 0));
	judge(&pool, look_at(1000, 0, 0));
	judge(&pool, look_at(2000, 3, OPENAT));
	judge(&pool, look_at(2500, 3, OPENAT));
	is_uint(pool.longest.ns, 0, "an idle pool, and a partly busy one");
	look.threads[2].rests = true;
	judge(&pool, look);
	judge(&pool, look);
	is_uint(pool.longest.ns, 0, "a thread rests, whatever the pool counts");
	judge(&pool, look_at(5000, 4, OPENAT));
	look = look_at(7000, 4, OPENAT);
	look.threads[3].tid++;
	judge(&pool, look);
	is_uint(pool.longest.ns, 0, "another thread");
}

/* All threads work all the time, but one of them ends its job. */
static void test_jobs(void)
{
	struct uv_pool pool = {};
	struct uv_look look = look_at(1000, 4, UV_CALL_NONE);

	judge(&pool, look_at(1, 4, UV_CALL_NONE));
	look.threads[3].write_cnt++;
	judge(&pool, look);
	is_uint(pool.longest.ns, 0, "a thread wrote: its job may have ended");
	look.end_ns = 1800 * MS;
	for (uint32_t i = 0; i < 4; i++)
		look.threads[i].sleep_cnt++;
	judge(&pool, look);
	is_uint(pool.longest.ns, 800 * MS, "one job may sleep again and again");
	look.end_ns = 4000 * MS;
	look.threads[0].write_cnt = UINT64_MAX;
	judge(&pool, look);
	look.end_ns = 6000 * MS;
	judge(&pool, look);
	is_uint(pool.longest.ns, 800 * MS, "the kernel does not count the calls");
}

/* A loop that runs may not have taken note of a job; then the next job's end is not written. */
static void test_loops(void)
{
	struct uv_pool pool = {};
	struct uv_look look = look_at(1, 4, UV_CALL_NONE);

	look.loops_sleep = false;
	judge(&pool, look);
	look = look_at(1000, 4, UV_CALL_NONE);
	judge(&pool, look);
	is_uint(pool.longest.ns, 0, "the loop ran at the first look");
	look = look_at(1500, 4, UV_CALL_NONE);
	look.loops_sleep = false;
	judge(&pool, look);
	is_uint(pool.longest.ns, 500 * MS, "it may run at a later one");
	look = look_at(3000, 4, UV_CALL_NONE);
	judge(&pool, look);
	is_uint(pool.longest.ns, 2000 * MS, "which is skipped");
	pool = (struct uv_pool){};
	look = look_at(1, 4, OPENAT);
	look.loops_sleep = false;
	judge(&pool, look);
	look.end_ns = 3001 * MS;
	judge(&pool, look);
	is_uint(pool.longest.ns, 3000 * MS, "one sleep is one job, whatever the loop does");
}

/* Before the pool is known, all threads of the process are followed. */
static void test_search(void)
{
	struct uv_pool pool = {};
	struct uv_look all = look_at(1, 4, OPENAT), look = look_at(2001, 3, OPENAT);

	all.threads[0].rests = true;
	ok(!uv_pool__follow(&pool, &all), "one look gives no reason to search");
	all.end_ns = 251 * MS;
	ok(uv_pool__follow(&pool, &all), "a thread in one job does");
	look.thread_cnt = 2;
	look.threads[0] = all.threads[1];
	look.threads[1] = all.threads[3];
	look.idle_cnt = 0;
	judge(&pool, look);
	is_uint(pool.longest.ns, 2000 * MS, "what was seen before the search counts");
	is_uint(pool.longest.of, 2, "of the pool's threads");
	pool = (struct uv_pool){};
	all = look_at(1, 0, 0);
	uv_pool__follow(&pool, &all);
	ok(!uv_pool__follow(&pool, &all), "threads that rest give no reason");
}

static void test_calls(void)
{
	struct uv_pool pool = {};
	struct uv_look look = look_at(1, 4, OPENAT);

	look.threads[1].call = UV_CALL_NONE;
	judge(&pool, look);
	look.end_ns = 500 * MS;
	judge(&pool, look);
	is_int(pool.longest.call, UV_CALL_MIXED, "in several calls");
	pool = (struct uv_pool){};
	judge(&pool, look_at(1, 4, UV_CALL_NONE));
	judge(&pool, look_at(300, 4, OPENAT));
	judge(&pool, look_at(500, 4, POLL));
	is_int(pool.longest.call, UV_CALL_MIXED, "one after the other");
}

/* Lookups may have half of the threads. */
static void test_lookups(void)
{
	struct uv_pool pool = {};
	struct uv_look look = look_at(1, 2, POLL);

	look.slow_cnt = 2;
	judge(&pool, look);
	look.end_ns = 500 * MS;
	judge(&pool, look);
	is_uint(pool.longest.ns, 0, "no lookup waits");
	look.slow_waits = true;
	look.threads[3].sleep_cnt++; /* a file was read meanwhile */
	look.end_ns = 3501 * MS;
	judge(&pool, look);
	ok(pool.longest.busy == 2 && pool.longest.of == 4 && pool.longest.call == POLL,
	   "2 of 4 in lookups, and more of these wait");
	is_uint(pool.longest.ns, 3500 * MS, "for that long");
}

int main(void)
{
	test_exhausted();
	test_not();
	test_jobs();
	test_loops();
	test_search();
	test_calls();
	test_lookups();
	return tap__done();
}
