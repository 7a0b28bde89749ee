/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file system has one journal for all of its files, so a sync of a small file may wait for
 * another program's large one. Only what the watch has seen counts: a thread that was still in its
 * call when the wait ended may be missing. Those of a hang: enrich/open_syncers.h.
 */
#include <errno.h>
#include <string.h>

#include "model/chain/chain.h"
#include "model/evidence.h"
#include "model/sample.h"

#define LEAST_PART 10

bool syncers__is_call(int32_t syscall)
{
	static const char *const names[] = { "fsync", "fdatasync", "syncfs", "sync_file_range" };
	const char *name = sample__syscall_name(syscall);

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool is_sync(const struct wait *wait)
{
	return wait->state == JANK_STATE_DISK && syncers__is_call(wait->syscall) && wait->waited &&
	       wait->waited->hdr.flags & JANK_WAITED_FILE && wait->waited->dev;
}

/* False: there is none. */
static bool find_longest(const struct chain_ask *ask, struct wait *ret)
{
	bool found = false;

	for (size_t i = 0; i < ask->cnt; i++) {
		struct wait wait = wait__of_sample(&ask->samples[i], ask->tgid, ask->tid);

		if (!is_sync(&wait) || (found && wait.end - wait.begin <= ret->end - ret->begin))
			continue;
		*ret = wait;
		found = true;
	}
	return found;
}

/* How long the record's thread synced during the wait, in ns. */
static uint64_t shared_ns(const struct other_record *record, const struct wait *wait)
{
	struct wait other = wait__of_record(record);
	uint64_t begin = other.begin > wait->begin ? other.begin : wait->begin;
	uint64_t end = other.end < wait->end ? other.end : wait->end;

	if (other.tid == wait->tid || !is_sync(&other) || other.waited->dev != wait->waited->dev)
		return 0;
	return end > begin ? end - begin : 0;
}

static int add_all(const struct thread_history *history, const struct wait *wait,
		   struct other_task **ret, size_t *ret_cnt)
{
	const struct other_record *record = thread_history__latest(history), *last = record;

	for (; record; record = record->age_prev == last ? NULL : record->age_prev) {
		const struct jank_rec_stack *rec = &record->event.rec;
		struct jank_task task = { .tgid = rec->hdr.tgid,
					  .tid = rec->hdr.tid,
					  .ns = shared_ns(record, wait) };
		struct other_task named;

		if (rec->hdr.ts_ns < wait->begin)
			break; /* they come in the order of their ends */
		if (!task.ns)
			continue;
		if (thread_history__task(history, task.tid, &named))
			memcpy(task.comm, named.comm, sizeof(task.comm));
		if (tasks__add(ret, ret_cnt, SYNCER_MAX, &task, 0) == -ENOMEM)
			return -ENOMEM;
	}
	tasks__sort(*ret, *ret_cnt);
	return 0;
}

int syncers__find(const struct thread_history *history, const struct chain_ask *ask,
		  struct other_task **ret, size_t *ret_cnt)
{
	struct wait wait = { 0 };
	int res;

	if (!find_longest(ask, &wait))
		return 0;
	res = add_all(history, &wait, ret, ret_cnt);
	while (*ret_cnt && (*ret)[*ret_cnt - 1].ns < (wait.end - wait.begin) / LEAST_PART)
		--*ret_cnt;
	return res;
}
