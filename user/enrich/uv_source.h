/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a look at the threads of a libuv program, or at its thread pool, reads. Sink thread. */
#ifndef JANK_ENRICH_UV_SOURCE_H
#define JANK_ENRICH_UV_SOURCE_H

#include "enrich/uv_pool.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

#define UV_LOOPS_MAX 16 /* threads with loops; with more, only threads that sleep are judged */

struct uv_source {
	uint32_t pid;
	uint32_t loops[UV_LOOPS_MAX], loop_cnt; /* the first tids; the number of all */
	bool found;				/* the pool's variables are in `at` */
	struct uv_pool_at at;
	uint32_t tids[UV_THREADS_MAX], tid_cnt; /* of the pool; 0: not known */
};

/* The pool's variables, read at once. */
struct uv_counts {
	uint64_t threads;
	uint32_t thread_cnt; /* 0: the pool has not started */
	uint32_t idle_cnt, slow_cnt;
	bool slow_waits;
};

/* The thread runs a loop of libuv. */
void uv_source__add_loop(struct uv_source *source, uint32_t tid);

/* 0; -EINVAL: not plausible; or -errno of the read. */
int uv_counts__read(const struct uv_source *source, struct uv_counts *ret);

/*
 * Finds the tids of the pool's threads: a pthread_t points to the C library's struct pthread, which
 * has the tid. False: the C library has another layout, or the threads are about to start.
 */
bool uv_source__find_threads(struct uv_source *source, const struct uv_counts *counts);

/* Looks at the first UV_THREADS_MAX threads of the process, before its pool is found. */
void uv_look__all_threads(const struct uv_source *source, struct uv_look *ret);

/* Looks at the pool, of which the tids are known. False: its memory cannot be read, or differs. */
bool uv_look__pool(const struct uv_source *source, struct uv_look *ret);

#endif
