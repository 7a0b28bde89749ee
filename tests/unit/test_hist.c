/* SPDX-License-Identifier: GPL-2.0 */
/* Counts by process and loop kind: summed, merged, listed, bounded. */
#include "model/hist.h"

#include "tests/tap.h"
#include "tests/unit/model_fixture.h"

#define ENTRY_MAX 4096
#define LOOP_MAX  64

static void add(struct hists *hists, uint32_t tid, uint32_t loop, uint64_t dispatches)
{
	struct jank_rec_thread rec = fixture__thread(tid, dispatches, dispatches / 10);

	rec.loop = loop;
	if (hists__add(hists, &rec))
		ok(false, "a thread's counts are added");
}

static void test_starts(void)
{
	struct jank_rec_thread rec = fixture__thread(11, 40, 0);
	struct hists *hists = hists__new(), *others = hists__new();
	struct loop_hist *list = NULL;
	size_t cnt;

	rec.starts.cnt[jank_hist__bucket(5000, jank_hist__log2(5000))] = 30;
	rec.starts.max_ns = 5100;
	ok(!hists__add(hists, &rec) && !hists__add(others, &rec) && !hists__merge(hists, others) &&
		   !hists__list(hists, &list, &cnt),
	   "two threads with start delays");
	is_uint(list[0].starts.total, 60, "their start delays are summed");
	is_uint(list[0].starts.max_ns, 5100, "with the longest");
	is_uint(list[0].durations.total, 80, "apart from the durations");
	free(list);
	hists__free(hists);
	hists__free(others);
}

static struct loop_hist *listed(const struct hists *hists, size_t want)
{
	struct loop_hist *list = NULL;
	size_t cnt = 0;

	if (hists__list(hists, &list, &cnt) || cnt != want)
		ok(false, "a list of %zu, not %zu", want, cnt);
	return list;
}

static void test_add(void)
{
	const Jankbpf__Identity old = { .base = PROTOBUF_C_MESSAGE_INIT(
						&jankbpf__identity__descriptor),
					.pid = 10,
					.name = "old",
					.container = "box" };
	const Jankbpf__Identity gone = { .base = PROTOBUF_C_MESSAGE_INIT(
						 &jankbpf__identity__descriptor),
					 .pid = 10,
					 .name = "gone",
					 .unit = "gone.service",
					 .pod = "pod" };
	struct hists *hists = hists__new();
	struct loop_hist *list;
	struct hist_totals totals;

	add(hists, 21, JANK_LOOP_EPOLL, 40);
	add(hists, 11, JANK_LOOP_ANDROID_LOOPER, 30);
	add(hists, 11, JANK_LOOP_EPOLL, 10);
	add(hists, 12, JANK_LOOP_EPOLL, 20);
	list = listed(hists, 3);
	ok(list[0].pid == 10 && list[0].loop == JANK_LOOP_EPOLL && list[0].dispatch_cnt == 30,
	   "threads of one process and loop kind are one entry");
	is_uint(durations__log2(&list[0].durations, 20), 30, "their buckets are summed");
	is_uint(list[0].block_cnt, 3, "their blocks too");
	ok(list[1].pid == 10 && list[1].loop == JANK_LOOP_ANDROID_LOOPER,
	   "another loop is another entry");
	ok(list[2].pid == 20 && list[2].dispatch_cnt == 40,
	   "the list is in the order of processes");
	ok(!list[0].process, "with the caller's names");
	totals = hists__totals(hists);
	ok(totals.dispatch_cnt == 100 && totals.block_cnt == 10, "the totals are the sum of all");
	free(list);
	is_int(hists__name(hists, &old), 0, "a process ends");
	is_int(hists__name(hists, &gone), 0, "so does another one with its pid");
	list = listed(hists, 3);
	ok(!strcmp(list[0].process->name, "gone") && !strcmp(list[1].process->name, "gone"),
	   "its loops have its name");
	ok(!strcmp(list[0].process->unit, "gone.service") && !list[0].process->container &&
		   !strcmp(list[1].process->pod, "pod"),
	   "its unit and pod");
	ok(!list[2].process, "others' do not");
	loop_hist__clear(&list[0]);
	loop_hist__clear(&list[1]);
	free(list);
	hists__free(hists);
	hists__free(NULL);
}

static void test_idle(void)
{
	struct hists *hists = hists__new();
	struct jank_rec_thread rec = fixture__thread(11, 0, 0);

	is_int(hists__add(hists, &rec), 0, "a thread without a dispatch is valid");
	free(listed(hists, 0));
	rec.hang_cnt = 1;
	is_int(hists__add(hists, &rec), 0, "and makes no entry");
	free(listed(hists, 1));
	is_uint(hists__totals(hists).hang_cnt, 1, "one that hangs in its first dispatch makes one");
	hists__free(hists);
}

static void test_merge(void)
{
	struct hists *a = hists__new(), *b = hists__new();
	struct jank_rec_thread rec = fixture__thread(11, 5, 1);
	struct loop_hist *list;

	rec.hang_cnt = 2;
	hists__add(b, &rec);
	add(a, 12, JANK_LOOP_EPOLL, 20);
	add(b, 21, JANK_LOOP_EPOLL, 30);
	is_int(hists__merge(a, b), 0, "two tables are merged");
	list = listed(a, 2);
	ok(list[0].dispatch_cnt == 25 && list[1].dispatch_cnt == 30, "entry by entry");
	is_uint(hists__totals(a).dispatch_cnt, 55, "with their totals");
	is_uint(hists__totals(a).hang_cnt, 2, "hangs too");
	is_uint(hists__totals(a).block_cnt, 6, "and blocks");
	free(list);
	list = listed(b, 2);
	is_uint(list[0].dispatch_cnt, 5, "the other table is unchanged");
	free(list);
	hists__free(a);
	hists__free(b);
}

static void test_bound(void)
{
	struct hists *hists = hists__new();
	struct loop_hist *list;

	for (uint32_t i = 1; i <= ENTRY_MAX; i++)
		add(hists, i * 10, JANK_LOOP_EPOLL, 1);
	free(listed(hists, ENTRY_MAX));
	for (uint32_t i = 1; i <= 100; i++)
		add(hists, (ENTRY_MAX + i) * 10, JANK_LOOP_EPOLL, 10);
	add(hists, 10, JANK_LOOP_EPOLL, 5);
	list = listed(hists, ENTRY_MAX + 1);
	ok(list[0].pid == 0 && list[0].dispatch_cnt == 1000, "too many processes share one entry");
	ok(list[1].pid == 10 && list[1].dispatch_cnt == 6, "those known before keep their entries");
	free(list);
	for (uint32_t i = 3; i < 10000; i++)
		add(hists, (ENTRY_MAX + i) * 10, i, 1);
	list = listed(hists, ENTRY_MAX + LOOP_MAX + 1);
	ok(!list[0].pid && !list[0].loop, "so do loops of too many kinds");
	is_uint(list[0].dispatch_cnt, 9997 - (LOOP_MAX - 1), "with all their counts");
	is_uint(hists__totals(hists).dispatch_cnt, ENTRY_MAX + 1005 + 9997, "no count is lost");
	free(list);
	hists__free(hists);
}

static struct loop_hist *taken(struct hists *told, const struct hists *now, size_t want)
{
	struct loop_hist *list = NULL;
	size_t cnt = 0;

	if (hists__take_new(told, now, &list, &cnt) || cnt != want)
		ok(false, "%zu rows are new, not %zu", cnt, want);
	return list;
}

static void test_take_new(void)
{
	struct hists *told = hists__new(), *now = hists__new();
	struct loop_hist *list;

	add(now, 11, JANK_LOOP_EPOLL, 10);
	add(now, 21, JANK_LOOP_EPOLL, 20);
	list = taken(told, now, 2);
	ok(list[0].dispatch_cnt == 10 && list[1].dispatch_cnt == 20, "all counts are new at first");
	free(list);
	free(taken(told, now, 0));
	add(now, 21, JANK_LOOP_EPOLL, 5);
	add(now, 31, JANK_LOOP_EPOLL, 7);
	list = taken(told, now, 2);
	ok(list[0].pid == 20 && list[0].dispatch_cnt == 5 && list[1].dispatch_cnt == 7,
	   "then only what is new, by process");
	free(list);
	hists__free(told);
	hists__free(now);
}

/* Counts that were lost with a record: new ones are seen again from the second take on. */
static void test_take_lost(void)
{
	struct hists *told = hists__new(), *now = hists__new(), *less = hists__new();
	struct loop_hist *list;

	add(now, 11, JANK_LOOP_EPOLL, 10);
	free(taken(told, now, 1));
	add(less, 11, JANK_LOOP_EPOLL, 2);
	free(taken(told, less, 0));
	free(taken(told, now, 0));
	ok(true, "counts that shrink in one take are not taken twice");
	free(taken(told, less, 0));
	add(less, 11, JANK_LOOP_EPOLL, 1);
	free(taken(told, less, 0));
	add(less, 11, JANK_LOOP_EPOLL, 4);
	list = taken(told, less, 1);
	ok(list && list[0].dispatch_cnt == 4, "after two smaller takes new dispatches count again");
	free(list);
	hists__free(told);
	hists__free(now);
	hists__free(less);
}

/* A process that had an entry of its own is in that of pid 0 when the table is full. */
static void test_take_lumped(void)
{
	struct hists *told = hists__new(), *now = hists__new();
	struct loop_hist *list;

	add(now, 990000, JANK_LOOP_EPOLL, 50);
	free(taken(told, now, 1));
	hists__free(now);
	now = hists__new();
	for (uint32_t i = 1; i <= ENTRY_MAX; i++)
		add(now, i * 10, JANK_LOOP_EPOLL, 1);
	add(now, 990000, JANK_LOOP_EPOLL, 53);
	list = taken(told, now, ENTRY_MAX + 1);
	is_uint(list[0].pid, 0, "the lump");
	is_uint(list[0].dispatch_cnt, 3, "what was told of it is not told again");
	free(list);
	hists__free(told);
	hists__free(now);
}

static bool lives(void *ctx, uint32_t pid)
{
	return pid == *(uint32_t *)ctx;
}

/* Counts that arrive after the fold are new. Those from before it are not reported again. */
static void test_fold(void)
{
	struct hists *none = hists__new();
	struct hists_run run = { .ended = hists__new(), .told = hists__new(), .live = none };
	struct loop_hist *list;
	uint32_t alive = 20;

	add(run.ended, 11, JANK_LOOP_EPOLL, 10);
	add(run.ended, 21, JANK_LOOP_EPOLL, 20);
	free(taken(run.told, run.ended, 2));
	ok(!hists__fold(&run, lives, &alive), "a process has ended");
	free(listed(run.ended, 2));
	add(run.ended, 12, JANK_LOOP_EPOLL, 4);
	list = taken(run.told, run.ended, 1);
	ok(list[0].pid == 10 && list[0].dispatch_cnt == 4, "its last thread's counts come late");
	free(list);
	ok(!hists__fold(&run, lives, &alive), "it is still gone");
	list = listed(run.ended, 2);
	ok(!list[0].pid && list[0].dispatch_cnt == 14 && list[1].pid == 20,
	   "its counts are in the entry of pid 0, the other process keeps its own");
	free(list);
	free(listed(run.told, 2));
	free(taken(run.told, run.ended, 0));
	add(run.ended, 11, JANK_LOOP_EPOLL, 3);
	list = taken(run.told, run.ended, 1);
	ok(list[0].pid == 10 && list[0].dispatch_cnt == 3, "its pid begins anew");
	free(list);
	hists__free(run.ended);
	hists__free(run.told);
	hists__free(none);
}

/* The fold skips a process that has live threads, and a process whose pid is in use again. */
static void test_fold_alive(void)
{
	struct hists *live = hists__new(), *left_out = hists__new();
	struct hists_run run = { hists__new(), hists__new(), left_out, live };
	uint32_t nobody = 0, back = 20;

	add(live, 11, JANK_LOOP_EPOLL, 10);
	add(run.ended, 11, JANK_LOOP_EPOLL, 10);
	add(run.ended, 21, JANK_LOOP_EPOLL, 10);
	add(left_out, 21, JANK_LOOP_EPOLL, 6);
	free(taken(run.told, run.ended, 2));
	ok(!hists__fold(&run, lives, &nobody) && !hists__fold(&run, lives, &back) &&
		   !hists__fold(&run, lives, &nobody),
	   "one in a look, one whose pid is used again");
	free(listed(run.ended, 2));
	ok(!hists__fold(&run, lives, &nobody), "the second ends");
	free(listed(run.ended, 2));
	free(taken(left_out, run.ended, 2));
	hists__free(run.ended);
	hists__free(run.told);
	hists__free(left_out);
	hists__free(live);
}

static struct loop_hist named(const char *process, const char *unit, const char *build_id,
			      uint64_t dispatches)
{
	struct loop_hist ret = {
		.process = identity__called(process),
		.loop = JANK_LOOP_EPOLL,
		.dispatch_cnt = dispatches,
		.block_cnt = 1,
	};

	ret.process->unit = unit ? strdup(unit) : NULL;
	ret.process->build_id = strdup(build_id);
	durations__add_many(&ret.durations, 1000, dispatches);
	return ret;
}

static void test_join(void)
{
	struct loop_hist list[] = {
		named("web", "web.service", "aa", 5), named("db", NULL, "bb", 7),
		named("web", "web.service", "aa", 6), named("web", "web.service", "cc", 1),
		named("web", NULL, "aa", 2),
	};
	size_t cnt = sizeof(list) / sizeof(*list);

	loop_hists__join(list, &cnt);
	is_uint(cnt, 4, "rows that differ in a name stay apart");
	ok(!strcmp(list[0].process->name, "db") && list[0].process_cnt == 1,
	   "in the order of names");
	ok(list[2].process_cnt == 2 && list[2].dispatch_cnt == 11 && list[2].block_cnt == 2 &&
		   list[2].durations.total == 11,
	   "two processes with the same names are one row");
	for (size_t i = 0; i < cnt; i++)
		loop_hist__clear(&list[i]);
	cnt = 0;
	loop_hists__join(list, &cnt);
	is_uint(cnt, 0, "of no rows it makes none");
}

int main(void)
{
	test_fold();
	test_fold_alive();
	test_join();
	test_take_new();
	test_take_lost();
	test_take_lumped();
	test_add();
	test_starts();
	test_idle();
	test_merge();
	test_bound();
	return tap__done();
}
