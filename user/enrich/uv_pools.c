/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "enrich/uv_pools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "enrich/uv_pool.h"
#include "enrich/uv_source.h"
#include "procfs/procinfo.h"

#define REST_NS	    NS_PER_SEC	      /* between looks, while nothing is at work */
#define WORK_NS	    (250 * NS_PER_MS) /* while a thread is */
#define FULL_NS	    (100 * NS_PER_MS) /* while a pool is exhausted */
#define LOOK_SHARE  100		      /* at most one part in this many of our CPU time */
#define PROCESS_MAX 256
#define TRY_MAX	    8 /* to find the pool's threads, which may be about to start */

struct uv_process {
	uint32_t pid; /* the key, as in source */
	char comm[64];
	struct uv_source source;
	bool given_up;
	bool works;	  /* a thread was at work at the last look */
	unsigned try_cnt; /* failed attempts to find the threads */
	struct uv_pool pool;
	UT_hash_handle hh;
};

struct uv_pools {
	struct symbolizer *sym;
	uint64_t threshold_ns, due_ns;
	bool forgets;
	struct uv_process *processes;
	struct unwatched_list ended;
};

struct uv_pools *uv_pools__new(struct symbolizer *sym, uint64_t threshold_ns, bool forgets)
{
	struct uv_pools *pools = calloc(1, sizeof(*pools));

	if (!pools)
		return NULL;
	pools->sym = sym;
	pools->threshold_ns = threshold_ns;
	pools->forgets = forgets;
	return pools;
}

static void drop(struct uv_pools *pools, struct uv_process *process)
{
	HASH_DEL(pools->processes, process);
	free(process);
}

void uv_pools__free(struct uv_pools *pools)
{
	if (!pools)
		return;
	while (pools->processes)
		drop(pools, pools->processes);
	unwatched__free(&pools->ended);
	free(pools);
}

static struct uv_process *find(const struct uv_pools *pools, uint32_t pid)
{
	struct uv_process *process;

	HASH_FIND(hh, pools->processes, &pid, sizeof(pid), process);
	return process;
}

static struct uv_process *add(struct uv_pools *pools, uint32_t pid)
{
	struct uv_process *process = calloc(1, sizeof(*process)), *added = process;
	struct proc_info info;
	char state;

	if (!process)
		return NULL;
	process->pid = process->source.pid = pid;
	if (!procinfo__read_stat((pid_t)pid, &info, &state))
		snprintf(process->comm, sizeof(process->comm), "%s", info.comm);
	HASH_ADD(hh, pools->processes, pid, sizeof(pid), added);
	if (!added) {
		free(process);
		return NULL;
	}
	pools->due_ns = clock__mono_ns();
	return process;
}

int uv_pools__add(struct uv_pools *pools, uint32_t pid, uint32_t tid)
{
	struct uv_process *process = find(pools, pid);

	if (!process && HASH_COUNT(pools->processes) >= PROCESS_MAX)
		return 0;
	if (!process)
		process = add(pools, pid);
	if (!process)
		return -ENOMEM;
	uv_source__add_loop(&process->source, tid);
	return 0;
}

/* --- the looks */

static void give_up(struct uv_process *process, const char *why)
{
	process->given_up = true;
	process->pool.now = (struct uv_period){};
	log__verbose("'%s' (pid %u): libuv's thread pool cannot be watched: %s", process->comm,
		     process->pid, why);
}

static bool works(const struct uv_look *look)
{
	for (uint32_t i = 0; i < look->thread_cnt; i++)
		if (!look->threads[i].rests)
			return true;
	return false;
}

static void look_for_work(struct uv_pools *pools, struct uv_process *process)
{
	struct uv_source *source = &process->source;
	struct uv_look look;

	uv_look__all_threads(source, &look);
	process->works = works(&look);
	if (!uv_pool__follow(&process->pool, &look))
		return;
	source->found = symbolizer__uv_pool(pools->sym, process->pid, &source->at);
	if (!source->found)
		give_up(process, "its variables are in no symbol table; install the debug symbols "
				 "of libuv, or of the program if libuv is part of it");
}

static void look_at_threads(const struct uv_pools *pools, struct uv_process *process)
{
	struct uv_look look;

	if (!uv_look__pool(&process->source, &look))
		return;
	uv_pool__follow(&process->pool, &look);
	uv_pool__judge(&process->pool, &look, pools->threshold_ns);
}

static void look_at_pool(const struct uv_pools *pools, struct uv_process *process)
{
	struct uv_counts counts;
	int res = uv_counts__read(&process->source, &counts);
	bool has_room = !res && (!counts.thread_cnt || (counts.idle_cnt && !counts.slow_waits));

	process->works = !res && counts.idle_cnt < counts.thread_cnt;
	if (res == -EINVAL)
		give_up(process, "its variables have other values than libuv's");
	else if (res || has_room) /* what is swapped out is not in use */
		uv_pool__has_room(&process->pool);
	else if (uv_source__find_threads(&process->source, &counts))
		look_at_threads(pools, process);
	else if (++process->try_cnt >= TRY_MAX)
		give_up(process, "its threads were not found; is this another C library than glibc "
				 "or musl?");
}

uint64_t uv_pools__due_ns(const struct uv_pools *pools)
{
	return pools->due_ns;
}

/* 0: nothing to look at */
static uint64_t pause_of(const struct uv_process *process)
{
	if (process->given_up)
		return 0;
	return process->pool.now.busy ? FULL_NS : process->works ? WORK_NS : REST_NS;
}

void uv_pools__look(struct uv_pools *pools)
{
	uint64_t begin_ns = clock__thread_ns(), pause_ns = 0;
	struct uv_process *process, *next;

	HASH_ITER (hh, pools->processes, process, next) {
		uint64_t own_ns;

		if (!process->source.found && !process->given_up)
			look_for_work(pools, process);
		if (process->source.found && !process->given_up)
			look_at_pool(pools, process);
		own_ns = pause_of(process);
		if (own_ns && (!pause_ns || own_ns < pause_ns))
			pause_ns = own_ns;
	}
	pools->due_ns = 0;
	if (pause_ns)
		pools->due_ns =
			clock__mono_ns() + pause_ns + (clock__thread_ns() - begin_ns) * LOOK_SHARE;
}

/* --- what was found */

static int add_entry(const struct uv_pools *pools, const struct uv_process *process,
		     struct unwatched_list *list)
{
	const struct uv_period *longest = &process->pool.longest;
	struct unwatched item = {
		.reason = UNWATCHED_POOL,
		.pid = process->pid,
		.pool_cnt = longest->of,
		.busy_cnt = longest->busy,
		.busy_ns = longest->ns,
		.busy_times = process->pool.over_cnt,
	};
	const char *call = longest->call >= 0 ? syscall__name(longest->call) : NULL;

	if (longest->ns <= pools->threshold_ns)
		return 0;
	snprintf(item.comm, sizeof(item.comm), "%s", process->comm);
	snprintf(item.waits_in, sizeof(item.waits_in), "%s", call ? call : "");
	return unwatched__add(list, &item);
}

int uv_pools__on_exit(struct uv_pools *pools, uint32_t pid)
{
	struct uv_process *process = find(pools, pid);
	int res = 0;

	if (process && !pools->forgets)
		res = add_entry(pools, process, &pools->ended);
	if (process)
		drop(pools, process);
	return res;
}

int uv_pools__list(struct uv_pools *pools, struct unwatched_list *list)
{
	struct uv_process *process, *next;
	int res = 0;

	uv_pools__look(pools);
	for (size_t i = 0; i < pools->ended.cnt && !res; i++)
		res = unwatched__add(list, &pools->ended.items[i]);
	list->more_cnt += pools->ended.more_cnt;
	HASH_ITER (hh, pools->processes, process, next)
		res = res ?: add_entry(pools, process, list);
	return res;
}
