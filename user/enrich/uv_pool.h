/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is libuv's thread pool exhausted? Judged by looks at a process's threads from outside. A pool is
 * exhausted while each of its threads is in one job. Between two looks a thread was in one job if
 * it rested at neither of them, and
 * - it sleeps in the same sleep, or
 * - no thread of the pool wrote to a file or eventfd. A thread that ends a job writes to the loop's
 *   eventfd, if the loop has taken note of the job that ended before (uv_async_send); so the loops
 *   must have slept at the first look.
 * Pure; any thread.
 */
#ifndef JANK_ENRICH_UV_POOL_H
#define JANK_ENRICH_UV_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define UV_THREADS_MAX 128 /* a larger pool is not judged */

/* In place of the number of a system call. */
enum { UV_CALL_NONE = -1, UV_CALL_MIXED = -2 };

struct uv_thread {
	uint32_t tid;
	int32_t call;	    /* that it sleeps in; UV_CALL_NONE: it runs, or sleeps outside of one */
	uint64_t sleep_cnt; /* how often it has gone to sleep */
	uint64_t write_cnt; /* its calls of write; UINT64_MAX: not known */
	uint64_t since_ns;  /* it is in this job since then or before; uv_pool__follow sets it */
	bool rests;	    /* it waits for work */
};

/* The threads first, then the loops, then the pool's counts. All zero: nothing was seen. */
struct uv_look {
	uint64_t end_ns;
	uint32_t thread_cnt;
	bool loops_sleep; /* each thread with a loop of libuv waits for events */
	uint32_t idle_cnt;
	uint32_t slow_cnt; /* threads in slow work (lookups), of which half of them may do some */
	bool slow_waits;   /* more slow work is queued */
	struct uv_thread threads[UV_THREADS_MAX];
};

/* A time in which `busy` of `of` threads were in one job each, as many as may. */
struct uv_period {
	uint32_t busy, of; /* 0: none */
	int32_t call;	   /* the same in all of them; UV_CALL_NONE, UV_CALL_MIXED */
	uint64_t begin_ns, ns;
};

/* All zero: nothing seen. */
struct uv_pool {
	struct uv_look last; /* that the next one is compared with */
	struct uv_period now, longest;
	uint64_t over_cnt; /* periods longer than the threshold */
};

/*
 * Compares a look with the pool's last one, which it replaces, and sets since_ns of its threads.
 * It may have more threads than the pool has, before these are known. Returns whether a thread is
 * in a job that it was in at an earlier look.
 */
bool uv_pool__follow(struct uv_pool *pool, struct uv_look *look);

/* A look after uv_pool__follow that has just the threads of the pool. */
void uv_pool__judge(struct uv_pool *pool, const struct uv_look *look, uint64_t threshold_ns);

/* A thread of the pool is free. */
void uv_pool__has_room(struct uv_pool *pool);

#endif
