/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All threads of the machine are asked for their system call, about 5 us each. The device of a
 * descriptor is that of its mount: no file system is queried.
 */
#include "enrich/open_syncers.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "model/chain/chain.h"
#include "model/sample.h"
#include "procfs/descriptor.h"
#include "procfs/filepath.h"
#include "procfs/futex_wait.h"
#include "procfs/procinfo.h"

#define PROC	    "/proc"
#define LOOK_NS	    5000000  /* between two looks that must be the same */
#define SEARCH_NS   50000000 /* longest search */
#define MOUNTS_READ 16	     /* of so many threads in such a call the device is read */

struct search {
	uint32_t tid; /* of the hang */
	dev_t dev;
	uint64_t until_ns;
	unsigned asked; /* threads in such a call */
	struct other_task found[SYNCER_MAX];
	size_t cnt;
};

/* The device of the file that the thread syncs now; 0: it does not, or not known. */
static dev_t synced_device(uint32_t pid, uint32_t tid, const struct blocked_call *call)
{
	const struct mount *mount;
	struct mountinfo mounts;
	char task[64];
	dev_t ret = 0;
	int id = 0;

	snprintf(task, sizeof(task), PROC "/%u/task/%u", pid, tid);
	if (!fdinfo__inode(task, (int32_t)call->args[0], &id) ||
	    mountinfo__read(PROC, (pid_t)tid, &mounts))
		return 0;
	mount = mountinfo__by_id(&mounts, id);
	if (mount)
		ret = mount->dev;
	mountinfo__free(&mounts);
	return ret;
}

static bool syncs(uint32_t pid, uint32_t tid, struct blocked_call *call)
{
	return !blocked_call__read(PROC, pid, tid, call) && syncers__is_call((int32_t)call->nr);
}

static void ask(struct search *search, uint32_t pid, uint32_t tid)
{
	struct other_task task = { .pid = pid, .tid = tid };
	struct blocked_call call;

	if (tid == search->tid || !syncs(pid, tid, &call) || search->asked++ >= MOUNTS_READ ||
	    compat32__process((pid_t)pid) || synced_device(pid, tid, &call) != search->dev ||
	    threadname__read(PROC, pid, tid, task.comm))
		return;
	search->found[search->cnt++] = task;
}

static bool goes_on(const struct search *search)
{
	return search->cnt < SYNCER_MAX && clock__mono_ns() < search->until_ns;
}

/* Asks the threads of that process; 0: of all processes. */
static void ask_all(struct search *search, uint32_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), pid ? PROC "/%u/task" : PROC, pid);
	dir = opendir(path);
	while (dir && goes_on(search) && (entry = readdir(dir))) {
		uint32_t number = strtoul(entry->d_name, NULL, 10);

		if (number && pid)
			ask(search, pid, number);
		else if (number)
			ask_all(search, number);
	}
	if (dir)
		closedir(dir);
}

/* Drops those that were in a short call. */
static void look_again(struct search *search)
{
	const struct timespec time = { .tv_nsec = LOOK_NS };
	size_t cnt = search->cnt;

	if (cnt)
		nanosleep(&time, NULL);
	search->cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		const struct other_task *task = &search->found[i];
		struct blocked_call call;

		if (syncs(task->pid, task->tid, &call) &&
		    synced_device(task->pid, task->tid, &call) == search->dev)
			search->found[search->cnt++] = *task;
	}
}

/* Those that the records know have the time for which they were seen. */
static int put(struct block *block, const struct search *search)
{
	struct other_task *list = calloc(SYNCER_MAX, sizeof(*list));
	size_t cnt = search->cnt;

	if (!list)
		return -ENOMEM;
	memcpy(list, search->found, cnt * sizeof(*list));
	for (size_t i = 0; i < block->syncer_cnt; i++) {
		size_t at = 0;

		while (at < cnt && list[at].tid != block->syncers[i].tid)
			at++;
		if (at < cnt)
			list[at].ns = block->syncers[i].ns;
		else if (cnt < SYNCER_MAX)
			list[cnt++] = block->syncers[i];
	}
	tasks__free(block->syncers, block->syncer_cnt);
	block->syncers = list;
	block->syncer_cnt = cnt;
	return 0;
}

int open_syncers__find(struct block *block)
{
	struct search search = { .tid = block->tid };
	size_t sample = block__open_wait(block);
	struct blocked_call before, after;

	if (block->type != BLOCK_HANG || sample == block->sample_cnt ||
	    block->samples[sample].state != JANK_STATE_DISK ||
	    !syncs(block->pid, block->tid, &before))
		return 0;
	search.dev = synced_device(block->pid, block->tid, &before);
	if (!search.dev)
		return 0;
	search.until_ns = clock__mono_ns() + SEARCH_NS;
	ask_all(&search, 0);
	look_again(&search);
	if (!search.cnt || blocked_call__read(PROC, block->pid, block->tid, &after) ||
	    memcmp(&before, &after, sizeof(before)) != 0)
		return 0;
	return put(block, &search);
}
