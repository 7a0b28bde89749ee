/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash table by process and loop kind. */
#include "model/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/block.h"

#define ENTRY_MAX 4096
#define LOOP_MAX  64 /* loop kinds with an own entry for pid 0 */

struct key {
	uint32_t pid, loop;
};

struct entry {
	struct key key;
	struct loop_hist hist; /* process: set by hists__name, not shared */
	UT_hash_handle hh;
};

struct hists {
	struct entry *entries;
	struct hist_totals totals;
};

struct hists *hists__new(void)
{
	return calloc(1, sizeof(struct hists));
}

void hists__free(struct hists *hists)
{
	struct entry *entry, *next;

	if (!hists)
		return;
	HASH_ITER (hh, hists->entries, entry, next) {
		HASH_DEL(hists->entries, entry);
		free(entry->hist.process);
		free(entry);
	}
	free(hists);
}

static struct entry *find_entry(const struct hists *hists, struct key key)
{
	struct entry *entry;

	HASH_FIND(hh, hists->entries, &key, sizeof(key), entry);
	return entry;
}

/* The entry of this very key. NULL: out of memory. */
static struct entry *own_entry(struct hists *hists, struct key key)
{
	struct entry *entry = find_entry(hists, key);

	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = key;
	entry->hist.pid = key.pid;
	entry->hist.loop = key.loop;
	HASH_ADD(hh, hists->entries, key, sizeof(key), entry);
	return entry;
}

/* The same, or the one that it shares because there are too many. */
static struct entry *entry_of(struct hists *hists, uint32_t pid, uint32_t loop)
{
	struct key key = { pid, loop };

	if (find_entry(hists, key))
		return find_entry(hists, key);
	if (pid && HASH_COUNT(hists->entries) >= ENTRY_MAX)
		return entry_of(hists, 0, loop);
	if (loop && HASH_COUNT(hists->entries) >= ENTRY_MAX + LOOP_MAX)
		return entry_of(hists, 0, 0);
	return own_entry(hists, key);
}

static int set_name(struct entry *entry, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free(entry->hist.process);
	entry->hist.process = copy;
	return 0;
}

static int add(struct hists *hists, const struct loop_hist *hist)
{
	struct entry *entry = entry_of(hists, hist->pid, hist->loop);

	if (!entry)
		return -ENOMEM;
	entry->hist.dispatch_cnt += hist->dispatch_cnt;
	entry->hist.block_cnt += hist->block_cnt;
	durations__merge(&entry->hist.durations, &hist->durations);
	durations__merge(&entry->hist.starts, &hist->starts);
	return hist->process && entry->key.pid ? set_name(entry, hist->process) : 0;
}

int hists__add(struct hists *hists, const struct jank_rec_thread *rec)
{
	struct loop_hist hist = {
		.pid = rec->hdr.tgid,
		.loop = rec->loop,
		.dispatch_cnt = rec->dispatch_cnt,
		.block_cnt = rec->block_cnt,
	};

	if (!rec->dispatch_cnt && !rec->hang_cnt)
		return 0;
	durations__add(&hist.durations, &rec->dispatches);
	durations__add(&hist.starts, &rec->starts);
	hists->totals.dispatch_cnt += rec->dispatch_cnt;
	hists->totals.block_cnt += rec->block_cnt;
	hists->totals.hang_cnt += rec->hang_cnt;
	return add(hists, &hist);
}

void hists__each(const struct hists *hists,
		 void (*fn)(void *ctx, uint32_t pid, uint64_t dispatch_cnt), void *ctx)
{
	const struct entry *entry;

	for (entry = hists->entries; entry; entry = entry->hh.next)
		fn(ctx, entry->key.pid, entry->hist.dispatch_cnt);
}

int hists__name(struct hists *hists, uint32_t pid, const char *name)
{
	struct entry *entry;
	int res = 0;

	for (uint32_t loop = 0; loop < LOOP_MAX && !res; loop++) {
		struct key key = { pid, loop };

		HASH_FIND(hh, hists->entries, &key, sizeof(key), entry);
		if (entry)
			res = set_name(entry, name);
	}
	return res;
}

int hists__merge(struct hists *hists, const struct hists *other)
{
	struct entry *entry, *next;

	HASH_ITER (hh, other->entries, entry, next) {
		int res = add(hists, &entry->hist);

		if (res)
			return res;
	}
	hists->totals.dispatch_cnt += other->totals.dispatch_cnt;
	hists->totals.block_cnt += other->totals.block_cnt;
	hists->totals.hang_cnt += other->totals.hang_cnt;
	return 0;
}

int hists__add_list(struct hists *hists, const struct loop_hist *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		int res = add(hists, &list[i]);

		if (res)
			return res;
		hists->totals.dispatch_cnt += list[i].dispatch_cnt;
	}
	return 0;
}

struct hist_totals hists__totals(const struct hists *hists)
{
	return hists->totals;
}

static int by_pid(const void *a, const void *b)
{
	const struct loop_hist *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->loop < y->loop ? -1 : x->loop > y->loop;
}

int hists__list(const struct hists *hists, struct loop_hist **ret, size_t *ret_cnt)
{
	size_t cnt = HASH_COUNT(hists->entries), i = 0;
	struct entry *entry, *next;
	struct loop_hist *list = calloc(cnt ? cnt : 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	HASH_ITER (hh, hists->entries, entry, next) {
		list[i] = entry->hist;
		if (list[i].process)
			list[i].process = strdup(list[i].process); /* optional */
		i++;
	}
	qsort(list, cnt, sizeof(*list), by_pid);
	*ret = list;
	*ret_cnt = cnt;
	return 0;
}

/* --- what is new */

/* `now` is full: the processes that have no entry of their own any more are in that of pid 0. */
static int fold_lumped(struct hists *told, const struct hists *now)
{
	struct entry *entry, *next;

	if (HASH_COUNT(now->entries) < ENTRY_MAX)
		return 0;
	HASH_ITER (hh, told->entries, entry, next) {
		const struct key key = { 0, entry->key.loop };
		struct entry *lump;

		if (find_entry(now, entry->key))
			continue;
		lump = own_entry(told, key);
		if (!lump)
			return -ENOMEM;
		durations__merge(&lump->hist.durations, &entry->hist.durations);
		durations__merge(&lump->hist.starts, &entry->hist.starts);
		HASH_DEL(told->entries, entry);
		free(entry->hist.process);
		free(entry);
	}
	return 0;
}

/* Returns false if it has nothing new. */
static bool take_new(struct loop_hist *told, const struct loop_hist *now, struct loop_hist *ret)
{
	*ret = (struct loop_hist){ .pid = now->pid, .loop = now->loop };
	durations__take_new(&told->durations, &now->durations, &ret->durations);
	durations__take_new(&told->starts, &now->starts, &ret->starts);
	ret->dispatch_cnt = ret->durations.total;
	if (ret->dispatch_cnt && now->process)
		ret->process = strdup(now->process); /* optional */
	return ret->dispatch_cnt;
}

int hists__take_new(struct hists *told, const struct hists *now, struct loop_hist **ret,
		    size_t *ret_cnt)
{
	struct loop_hist *list = calloc(HASH_COUNT(now->entries) + 1, sizeof(*list));
	struct entry *entry, *next, *before;
	size_t cnt = 0;
	int res = list ? fold_lumped(told, now) : -ENOMEM;

	HASH_ITER (hh, now->entries, entry, next) {
		before = res ? NULL : own_entry(told, entry->key);
		if (before && take_new(&before->hist, &entry->hist, &list[cnt]))
			cnt++;
		else if (!before)
			res = -ENOMEM;
	}
	if (cnt)
		qsort(list, cnt, sizeof(*list), by_pid);
	*ret = list;
	*ret_cnt = cnt;
	return res;
}
