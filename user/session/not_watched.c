/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hash.h"
#include "session/sink_thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "procfs/procinfo.h"

/* --- processes of a row that is off; the probes exclude their code by address */

/* True if the row's loops are off, in every kind of wait. */
static bool is_off(const struct left_alone *left, const struct catalogue_row *row)
{
	return left->choice && row && row->is_off && !(row->waits & left->choice->waits) &&
	       !loop_choice__takes(left->choice, row, 0);
}

static int keep(struct left_alone *left, const Jankbpf__Identity *process,
		const struct catalogue_row *row)
{
	struct unwatched item = { .reason = process->has_off ? process->off : UNWATCHED_LOOP_OFF,
				  .pid = process->pid };

	snprintf(item.comm, sizeof(item.comm), "%s", process->name);
	if (!process->has_off)
		snprintf(item.loop, sizeof(item.loop), "%s", row->name);
	return unwatched__add(&left->list, &item);
}

int left_alone__update(struct left_alone *left, const Jankbpf__Identity *process,
		       const struct catalogue_row *row)
{
	struct proc_info info = {};
	char state = 'Z';
	int res;

	if (procinfo__read_stat(process->pid, &info, &state) || state == 'Z')
		return 0; /* keep what is known */
	unwatched__drop(&left->list, process->pid);
	if (process->has_off) { /* wherever its code is */
		info.code_start = 0;
		info.code_end = UINT64_MAX;
	} else if (!is_off(left, row)) {
		return parks__watch_again(left->parks, process->pid);
	}
	res = keep(left, process, row);
	if (res)
		return res;
	return parks__leave_alone(left->parks, process->pid, info.code_start, info.code_end);
}

void left_alone__on_exit(struct left_alone *left, uint32_t pid)
{
	if (left->forgets)
		unwatched__drop(&left->list, pid);
}

/* Adds the processes to the list, replacing their other entries. Returns 0 or -ENOMEM. */
static int left_alone__report(const struct left_alone *left, struct unwatched_list *list)
{
	int res = 0;

	for (size_t i = 0; i < left->list.cnt && !res; i++) {
		unwatched__drop(list, left->list.items[i].pid);
		res = unwatched__add(list, &left->list.items[i]);
	}
	list->more_cnt += left->list.more_cnt;
	return res;
}

void left_alone__free(struct left_alone *left)
{
	unwatched__free(&left->list);
}

#define LINES_MAX 10 /* on stderr */

/* With --workers: names of processes, since /proc has no name after their end. */
struct process_name {
	uint32_t pid;
	char name[64];
	UT_hash_handle hh;
};

struct completion {
	struct not_watched *nw;
	struct unwatched_list *list;
	uint32_t pid; /* only this process; 0: all */
};

static void add(struct not_watched *nw, struct unwatched_list *list, struct unwatched *item,
		const char *name)
{
	snprintf(item->comm, sizeof(item->comm), "%s", name);
	if (unwatched__add(list, item))
		losses__add(nw->losses, LOSS_NO_MEMORY, 1);
}

/* Loops of that row are not reported, so drop what the intake thread has seen of them. */
void not_watched__add_off(struct not_watched *nw, struct unwatched_list *list, uint32_t pid,
			  const char *name, const struct catalogue_row *row)
{
	struct unwatched item = { .reason = UNWATCHED_LOOP_OFF, .pid = pid };

	unwatched__drop(list, pid);
	snprintf(item.loop, sizeof(item.loop), "%s", row->name);
	add(nw, list, &item, name);
}

/* The user asked for workers, and these workers cannot be watched. */
static void on_alike(void *ctx, uint32_t pid, uint32_t tid)
{
	struct unwatched item = { .reason = UNWATCHED_WORKERS, .pid = pid, .tid = tid };
	struct completion *completion = ctx;
	const struct process_name *name;

	if (completion->pid && completion->pid != pid)
		return;
	HASH_FIND(hh, completion->nw->names, &pid, sizeof(pid), name);
	add(completion->nw, completion->list, &item, name ? name->name : "?");
}

static void add_ended(struct not_watched *nw, struct unwatched_list *list)
{
	for (size_t i = 0; i < nw->ended.cnt; i++)
		if (unwatched__add(list, &nw->ended.items[i]))
			losses__add(nw->losses, LOSS_NO_MEMORY, 1);
	list->more_cnt += nw->ended.more_cnt;
}

void not_watched__set_wait(struct not_watched *nw, uint32_t pid, const char *functions)
{
	struct unwatched item = { .reason = UNWATCHED_NO_LOOP, .pid = pid };

	snprintf(item.waits_at, sizeof(item.waits_at), "%s", functions);
	if (functions[0] && unwatched__add(&nw->waits, &item))
		losses__add(nw->losses, LOSS_NO_MEMORY, 1);
}

/* For those that are in the same wait as when their stacks were read. */
static void set_waits(const struct not_watched *nw, struct unwatched_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		for (size_t j = 0; j < nw->waits.cnt && list->items[i].waits_ns; j++)
			if (nw->waits.items[j].pid == list->items[i].pid)
				memcpy(list->items[i].waits_at, nw->waits.items[j].waits_at,
				       WAITS_AT_SZ);
}

void not_watched__complete(struct not_watched *nw, struct unwatched_list *list)
{
	struct completion completion = { .nw = nw, .list = list };

	set_waits(nw, list);
	add_ended(nw, list);
	if (nw->workers)
		parks__each_alike(nw->parks, on_alike, &completion);
	if (left_alone__report(nw->left_alone, list))
		losses__add(nw->losses, LOSS_NO_MEMORY, 1);
}

void not_watched__on_process(struct not_watched *nw, const Jankbpf__Identity *process)
{
	uint32_t pid = process->pid;
	struct process_name *name;

	if (!nw->workers)
		return;
	HASH_FIND(hh, nw->names, &pid, sizeof(pid), name);
	if (!name) {
		name = calloc(1, sizeof(*name));
		if (name) {
			name->pid = pid;
			HASH_ADD(hh, nw->names, pid, sizeof(name->pid), name);
		}
		if (!name) {
			losses__add(nw->losses, LOSS_NO_MEMORY, 1);
			return;
		}
	}
	snprintf(name->name, sizeof(name->name), "%s", process->name ? process->name : "?");
}

static void drop(struct not_watched *nw, struct process_name *name)
{
	HASH_DEL(nw->names, name);
	free(name);
}

void not_watched__on_exit(struct not_watched *nw, uint32_t pid)
{
	struct completion completion = { .nw = nw, .list = &nw->ended, .pid = pid };
	struct process_name *name;

	unwatched__drop(&nw->waits, pid);
	if (nw->workers)
		parks__each_alike(nw->parks, on_alike, &completion);
	HASH_FIND(hh, nw->names, &pid, sizeof(pid), name);
	if (name)
		drop(nw, name);
}

void not_watched__free(struct not_watched *nw)
{
	while (nw->names)
		drop(nw, nw->names);
	unwatched__free(&nw->ended);
	unwatched__free(&nw->waits);
}

static void report_line(void *ctx, enum unwatched_reason reason, const char *line)
{
	(void)ctx;
	if (reason == UNWATCHED_SIGNALS)
		log__info("not watched: %s", line);
	else
		log__warn("not watched: %s", line);
}

void not_watched__report(struct not_watched *nw, const struct unwatched_list *list)
{
	nw->reported |= list->cnt > 0;
	if (unwatched__each_line(list, LINES_MAX, report_line, NULL))
		losses__add(nw->losses, LOSS_NO_MEMORY, 1);
}
