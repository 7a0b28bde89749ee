/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash table by process and loop kind. */
#include "model/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/groups.h"
#include "base/text.h"
#include "model/block.h"

#define ENTRY_MAX 4096
#define LOOP_MAX  64 /* loop kinds with an own entry for pid 0 */

struct key {
	uint32_t pid, loop;
};

struct entry {
	struct group_node node;
	struct key key;
	Jankbpf__Identity *process; /* of hists__name: its names; NULL: none */
	uint64_t dispatch_cnt, block_cnt;
	struct durations_packed *durations, *starts;
	bool gone;   /* its process had ended at the last hists__fold */
	bool shrank; /* the counts were less than these at the last hists__take_new */
};

struct hists {
	struct groups entries;
	struct hist_totals totals;
};

static void clear_entry(void *at)
{
	struct entry *entry = at;

	identity__free(entry->process);
	free(entry->durations);
	free(entry->starts);
}

struct hists *hists__new(void)
{
	struct hists *ret = calloc(1, sizeof(*ret));

	if (ret)
		groups__init(&ret->entries, sizeof(struct entry), ENTRY_MAX, clear_entry);
	return ret;
}

void hists__free(struct hists *hists)
{
	if (!hists)
		return;
	groups__free(&hists->entries);
	free(hists);
}

static struct entry *find_entry(const struct hists *hists, struct key key)
{
	return groups__find(&hists->entries, &key, sizeof(key));
}

/* The entry of this very key. NULL: out of memory. */
static struct entry *own_entry(struct hists *hists, struct key key)
{
	struct entry *entry = groups__get_rest(&hists->entries, &key, sizeof(key));

	if (entry)
		entry->key = key;
	return entry;
}

/* The same, or the one that it shares because there are too many. */
static struct entry *entry_of(struct hists *hists, uint32_t pid, uint32_t loop)
{
	struct key key = { pid, loop };

	if (find_entry(hists, key))
		return find_entry(hists, key);
	if (pid && groups__is_full(&hists->entries))
		return entry_of(hists, 0, loop);
	if (loop && groups__cnt(&hists->entries) >= ENTRY_MAX + LOOP_MAX)
		return entry_of(hists, 0, 0);
	return own_entry(hists, key);
}

/* 0 or -ENOMEM. */
static int set_names(struct entry *entry, const Jankbpf__Identity *process)
{
	Jankbpf__Identity *names = identity__names(process);

	if (!names)
		return -ENOMEM;
	identity__free(entry->process);
	entry->process = names;
	return 0;
}

/* The names are borrowed. */
static void read_entry(const struct entry *entry, struct loop_hist *ret)
{
	*ret = (struct loop_hist){ .pid = entry->key.pid,
				   .loop = entry->key.loop,
				   .process = entry->process,
				   .dispatch_cnt = entry->dispatch_cnt,
				   .block_cnt = entry->block_cnt };
	durations__unpack(entry->durations, &ret->durations);
	durations__unpack(entry->starts, &ret->starts);
}

/* Its counts. 0 or -ENOMEM. */
static int write_entry(struct entry *entry, const struct loop_hist *hist)
{
	entry->dispatch_cnt = hist->dispatch_cnt;
	entry->block_cnt = hist->block_cnt;
	return durations__pack(&hist->durations, &entry->durations)
		       ?: durations__pack(&hist->starts, &entry->starts);
}

static void sum(struct loop_hist *to, const struct loop_hist *from)
{
	to->dispatch_cnt += from->dispatch_cnt;
	to->block_cnt += from->block_cnt;
	durations__merge(&to->durations, &from->durations);
	durations__merge(&to->starts, &from->starts);
}

/* entry: NULL if there was no memory for it. 0 or -ENOMEM. */
static int add_to(struct entry *entry, const struct loop_hist *hist)
{
	struct loop_hist all;

	if (!entry)
		return -ENOMEM;
	if (!entry->durations && !entry->starts && !entry->block_cnt && !entry->dispatch_cnt)
		return write_entry(entry, hist);
	read_entry(entry, &all);
	sum(&all, hist);
	return write_entry(entry, &all);
}

static int add(struct hists *hists, const struct loop_hist *hist)
{
	struct entry *entry = entry_of(hists, hist->pid, hist->loop);
	int res = add_to(entry, hist);

	return !res && identity__name(hist->process) && entry->key.pid
		       ? set_names(entry, hist->process)
		       : res;
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

	GROUPS_EACH(&hists->entries, entry)
	fn(ctx, entry->key.pid, entry->dispatch_cnt);
}

int hists__name(struct hists *hists, const Jankbpf__Identity *process)
{
	struct entry *entry;
	int res = 0;

	for (uint32_t loop = 0; loop < LOOP_MAX && !res; loop++) {
		entry = find_entry(hists, (struct key){ process->pid, loop });
		if (entry)
			res = set_names(entry, process);
	}
	return res;
}

int hists__merge(struct hists *hists, const struct hists *other)
{
	struct entry *entry;
	struct loop_hist hist;

	GROUPS_EACH(&other->entries, entry)
	{
		read_entry(entry, &hist);
		if (add(hists, &hist))
			return -ENOMEM;
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
	size_t cnt = groups__cnt(&hists->entries), i = 0;
	struct entry *entry;
	struct loop_hist *list = calloc(cnt ? cnt : 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	GROUPS_EACH(&hists->entries, entry)
	{
		struct loop_hist *row = &list[i++];

		read_entry(entry, row);
		row->process = identity__copy(row->process); /* optional */
	}
	qsort(list, cnt, sizeof(*list), by_pid);
	*ret = list;
	*ret_cnt = cnt;
	return 0;
}

/* --- what is new */

/* Adds from's counts to the entry of pid 0. 0 or -ENOMEM. */
static int lump(struct hists *hists, const struct entry *from)
{
	const struct key key = { 0, from->key.loop };
	struct loop_hist hist;

	read_entry(from, &hist);
	return add_to(own_entry(hists, key), &hist);
}

/* `now` is full: the processes that have no entry of their own any more are in that of pid 0. */
static int fold_lumped(struct hists *told, const struct hists *now)
{
	struct entry *entry, *next;

	if (!groups__is_full(&now->entries))
		return 0;
	GROUPS_EACH_SAFE(&told->entries, entry, next)
	{
		if (find_entry(now, entry->key))
			continue;
		if (lump(told, entry))
			return -ENOMEM;
		groups__drop(&told->entries, entry);
	}
	return 0;
}

/*
 * Between the end of a thread and its last record the counts shrink in one take. In two takes in a
 * row they were lost with a record: from then on the lower counts are the told ones.
 */
static void follow_lost(struct entry *told, struct loop_hist *before, const struct loop_hist *all)
{
	bool shrank = all->durations.total < before->durations.total;

	if (shrank && told->shrank) {
		before->durations = all->durations;
		before->starts = all->starts;
	}
	told->shrank = shrank && !told->shrank;
}

/*
 * With nothing new, ret->dispatch_cnt is 0. told: NULL if there was no memory for it. 0 or -ENOMEM.
 */
static int take_new(struct entry *told, const struct entry *now, struct loop_hist *ret)
{
	struct loop_hist before, all;
	int res;

	if (!told)
		return -ENOMEM;
	read_entry(told, &before);
	read_entry(now, &all);
	*ret = (struct loop_hist){ .pid = all.pid, .loop = all.loop };
	follow_lost(told, &before, &all);
	durations__take_new(&before.durations, &all.durations, &ret->durations);
	durations__take_new(&before.starts, &all.starts, &ret->starts);
	res = write_entry(told, &before);
	if (res)
		return res;
	ret->dispatch_cnt = ret->durations.total;
	if (ret->dispatch_cnt)
		ret->process = identity__copy(all.process); /* optional */
	return 0;
}

int hists__take_new(struct hists *told, const struct hists *now, struct loop_hist **ret,
		    size_t *ret_cnt)
{
	struct loop_hist *list = calloc(groups__cnt(&now->entries) + 1, sizeof(*list));
	struct entry *entry;
	size_t cnt = 0;
	int res = list ? fold_lumped(told, now) : -ENOMEM;

	GROUPS_EACH(&now->entries, entry)
	{
		res = res ?: take_new(own_entry(told, entry->key), entry, &list[cnt]);
		cnt += !res && list[cnt].dispatch_cnt;
	}
	if (cnt)
		qsort(list, cnt, sizeof(*list), by_pid);
	*ret = list;
	*ret_cnt = cnt;
	return res;
}

/* Adds the counts of this entry to those of pid 0, in each table that has it. 0 or -ENOMEM. */
static int fold(const struct hists_run *run, struct entry *told)
{
	struct entry *ended = find_entry(run->ended, told->key);
	struct entry *left_out = run->left_out ? find_entry(run->left_out, told->key) : NULL;

	if ((ended && (lump(run->ended, ended) || lump(run->told, ended))) ||
	    (left_out && lump(run->left_out, left_out)))
		return -ENOMEM;
	if (ended)
		groups__drop(&run->ended->entries, ended);
	if (left_out)
		groups__drop(&run->left_out->entries, left_out);
	groups__drop(&run->told->entries, told);
	return 0;
}

int hists__fold(const struct hists_run *run, bool (*lives)(void *ctx, uint32_t pid), void *ctx)
{
	struct entry *entry, *next;
	bool gone;
	int res;

	GROUPS_EACH_SAFE(&run->told->entries, entry, next)
	{
		gone = entry->gone;
		entry->gone = entry->key.pid && !find_entry(run->live, entry->key) &&
			      !lives(ctx, entry->key.pid);
		res = gone && entry->gone ? fold(run, entry) : 0;
		if (res)
			return res;
	}
	return 0;
}

/* --- joined */

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ?: "", b ?: "");
}

static int compare_processes(const Jankbpf__Identity *x, const Jankbpf__Identity *y)
{
	const char *const texts[][2] = {
		{ x->unit, y->unit },
		{ x->container, y->container },
		{ x->pod, y->pod },
		{ x->service_name, y->service_name },
		{ x->service_version, y->service_version },
		{ x->service_namespace, y->service_namespace },
		{ x->deployment_environment, y->deployment_environment },
		{ x->build_id, y->build_id },
		{ x->package_version, y->package_version },
	};
	int order = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts) && !order; i++)
		order = compare_texts(texts[i][0], texts[i][1]);
	return order ?: (x->package_code > y->package_code) - (x->package_code < y->package_code);
}

/* By all that a row is known by, but the pid. */
static int by_name(const void *a, const void *b)
{
	static const Jankbpf__Identity unknown = JANKBPF__IDENTITY__INIT;
	const struct loop_hist *x = a, *y = b;
	const Jankbpf__Identity *of_x = x->process ?: &unknown, *of_y = y->process ?: &unknown;

	return compare_texts(of_x->name, of_y->name)
		       ?: compare_texts(hist__loop(x), hist__loop(y))
		       ?: compare_processes(of_x, of_y)
		       ?: (x->threshold_ns > y->threshold_ns) - (x->threshold_ns < y->threshold_ns);
}

void loop_hists__join(struct loop_hist *list, size_t *cnt)
{
	struct loop_hist *to = list;

	if (!*cnt)
		return;
	qsort(list, *cnt, sizeof(*list), by_name);
	for (size_t i = 0; i < *cnt; i++) {
		list[i].process_cnt = 1;
		if (!i)
			continue;
		if (by_name(to, &list[i])) {
			*++to = list[i];
			continue;
		}
		to->process_cnt++;
		sum(to, &list[i]);
		loop_hist__clear(&list[i]);
	}
	*cnt = (size_t)(to - list) + 1;
}
