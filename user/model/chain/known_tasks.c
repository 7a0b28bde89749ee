/* SPDX-License-Identifier: GPL-2.0 */
/* The hash keeps the order of insertion: who is seen anew moves to its end, who was not for longest is dropped. */
#include "model/chain/known_tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define TASK_MAX 16384

struct entry {
	struct known_task task;
	UT_hash_handle hh;
};

struct known_tasks {
	struct entry *entries;
};

struct known_tasks *known_tasks__new(void)
{
	return calloc(1, sizeof(struct known_tasks));
}

void known_tasks__free(struct known_tasks *tasks)
{
	struct entry *entry, *next;

	if (!tasks)
		return;
	HASH_ITER (hh, tasks->entries, entry, next) {
		HASH_DEL(tasks->entries, entry);
		free(entry);
	}
	free(tasks);
}

static struct entry *find(const struct known_tasks *tasks, uint32_t tid)
{
	struct entry *entry;

	HASH_FIND(hh, tasks->entries, &tid, sizeof(tid), entry);
	return entry;
}

/* The thread's entry, out of the hash: a new one, or another's that was not seen for longest. */
static struct entry *take(struct known_tasks *tasks, uint32_t tid)
{
	struct entry *entry = find(tasks, tid);

	if (!entry && HASH_COUNT(tasks->entries) >= TASK_MAX)
		entry = tasks->entries;
	if (!entry)
		return calloc(1, sizeof(*entry));
	HASH_DEL(tasks->entries, entry);
	return entry;
}

int known_tasks__note(struct known_tasks *tasks, uint32_t tgid, uint32_t tid, const char *comm)
{
	struct entry *entry;

	if (!tid) /* the idle task: one for each CPU */
		return 0;
	entry = take(tasks, tid);
	if (!entry)
		return -ENOMEM;
	if (entry->task.tid != tid || entry->task.tgid != tgid)
		entry->task = (struct known_task){ .tgid = tgid, .tid = tid };
	if (comm && *comm)
		memcpy(entry->task.comm, comm, JANK_COMM_SZ);
	HASH_ADD(hh, tasks->entries, task.tid, sizeof(tid), entry);
	return 0;
}

const struct known_task *known_tasks__find(const struct known_tasks *tasks, uint32_t tid)
{
	const struct entry *entry = find(tasks, tid);

	return entry ? &entry->task : NULL;
}
