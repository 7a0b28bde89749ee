/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was not watched of a process for a part of the run: an early place held the loop's place, or
 * the loop had not begun. One entry for each thread that was recognised late, and one for what the
 * first look found.
 */
#include "session/formerly.h"

#include <fnmatch.h>
#include <stdio.h>

#include "base/clock.h"
#include "catalogue/catalogue.h"
#include "model/loss.h"

#define EARLY_NS NS_PER_SEC	   /* a loop known so soon was active from the start */
#define HELD_NS	 (60 * NS_PER_SEC) /* earlier blocks had been dropped (probation.c) */
#define LATE_MAX 8		   /* threads of a process */

static bool is_named_thread(const struct catalogue *cat, const char *comm)
{
	for (size_t i = 0; i < catalogue__row_cnt(cat); i++) {
		const struct catalogue_functions *threads = &catalogue__row(cat, i)->threads;

		for (size_t j = 0; j < threads->cnt; j++)
			if (!fnmatch(threads->globs[j], comm, 0))
				return true;
	}
	return false;
}

/* True if turns showed that it is a loop. Not of the workers of a pool: they are too many. */
static bool is_by_turns(const struct catalogue *cat, const struct jank_rec_wait *rec)
{
	if (rec->loop == JANK_LOOP_POLL || rec->hdr.tid == rec->hdr.tgid)
		return rec->loop == JANK_LOOP_POLL || rec->loop == JANK_LOOP_PARK;
	return rec->loop == JANK_LOOP_PARK && is_named_thread(cat, rec->comm);
}

/*
 * Blocks are reported from the begin of the probation on. If it was the thread's first one, the
 * thread had waited there since before: nothing is missing.
 */
static uint64_t watched_since(const struct jank_rec_wait *rec, uint64_t start_ns)
{
	uint64_t held_ns = rec->fd_cnt * NS_PER_MS;

	if (held_ns > HELD_NS)
		held_ns = HELD_NS;
	else if (rec->hdr.flags == 1)
		return start_ns;
	if (rec->hdr.ts_ns < start_ns + held_ns + EARLY_NS)
		return start_ns;
	return rec->hdr.ts_ns - held_ns;
}

static void set_earlier(uint64_t *ns, uint64_t since_ns)
{
	if (!*ns || since_ns < *ns)
		*ns = since_ns;
}

static bool has(const struct unwatched_list *list, enum unwatched_reason reason, uint32_t tid)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (list->items[i].reason == reason && (!tid || list->items[i].tid == tid))
			return true;
	return false;
}

void formerly__on_wait(struct process_entry *process, const struct catalogue *cat,
		       const struct jank_rec_wait *rec, uint64_t start_ns, struct losses *losses)
{
	struct unwatched item = {
		.reason = UNWATCHED_LATE,
		.pid = rec->hdr.tgid,
		.tid = rec->hdr.tid,
	};
	uint64_t since_ns;

	if (!is_by_turns(cat, rec) || has(&process->formerly, UNWATCHED_LATE, item.tid))
		return;
	since_ns = watched_since(rec, start_ns);
	set_earlier(&process->loop_ns, since_ns);
	if (item.tid == item.pid)
		set_earlier(&process->main_ns, since_ns);
	else
		snprintf(item.thread, sizeof(item.thread), "%s", rec->comm);
	if (since_ns == start_ns || process->formerly.cnt >= LATE_MAX)
		return;
	item.late_ns = item.until_ns = since_ns - start_ns;
	if (unwatched__add(&process->formerly, &item))
		losses__add(losses, LOSS_NO_MEMORY, 1);
}

/* Does a loop of the process, or of its main thread, end the entry? */
static bool is_of_main_thread(const struct unwatched *item)
{
	return item->reason != UNWATCHED_NO_LOOP;
}

void formerly__keep(struct process_entry *process, const struct unwatched *item,
		    struct losses *losses)
{
	if (item->reason != UNWATCHED_NO_LOOP && item->reason != UNWATCHED_MAIN_THREAD &&
	    item->reason != UNWATCHED_FEW_TURNS)
		return;
	if (has(&process->formerly, item->reason, 0))
		return;
	if (unwatched__add(&process->formerly, item))
		losses__add(losses, LOSS_NO_MEMORY, 1);
}

/* True if the entry about a thread says the same. */
static bool is_said(const struct unwatched_list *list, uint64_t until_ns)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (list->items[i].reason == UNWATCHED_LATE && list->items[i].until_ns == until_ns)
			return true;
	return false;
}

int formerly__add(const struct process_entry *process, const char *name, uint64_t start_ns,
		  struct unwatched_list *ret)
{
	int res = 0;

	for (size_t i = 0; i < process->formerly.cnt && !res; i++) {
		struct unwatched item = process->formerly.items[i];
		uint64_t end_ns = is_of_main_thread(&item) ? process->main_ns : process->loop_ns;

		if (item.reason != UNWATCHED_LATE) {
			if (end_ns <= start_ns) /* not over, or the loop was there from the start */
				continue;
			item.until_ns = end_ns - start_ns;
			if (is_said(&process->formerly, item.until_ns))
				continue;
		}
		snprintf(item.comm, sizeof(item.comm), "%s", name);
		res = unwatched__add(ret, &item);
	}
	return res;
}

uint64_t formerly__from_ns(const struct process_entry *process, const struct unwatched *item,
			   uint64_t start_ns)
{
	if (item->reason != UNWATCHED_MAIN_THREAD || process->loop_ns <= start_ns ||
	    !has(&process->formerly, UNWATCHED_NO_LOOP, 0))
		return 0;
	return process->loop_ns - start_ns;
}
