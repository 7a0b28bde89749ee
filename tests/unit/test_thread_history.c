/* SPDX-License-Identifier: GPL-2.0 */
/* The history of any thread: copies of records by thread, bounded, the oldest dropped first. */
#include "model/chain/thread_history.h"

#include "base/clock.h"
#include "tests/tap.h"
#include "tests/unit/model_fixture.h"

#define TASK_MAX  16384
#define RECORD_SZ (sizeof(struct other_record) + 5 * sizeof(uint64_t))

static struct losses losses;

static struct thread_history *fresh(size_t max)
{
	losses = (struct losses){ 0 };
	return thread_history__new(max, &losses);
}

/* Feeds from memory that is freed afterwards, as the ring's is. */
static void feed(struct thread_history *history, const void *rec)
{
	size_t len = ((const struct jank_rec *)rec)->size;
	void *exact = fixture__exact(rec, len);
	struct event event;

	if (decode__record(exact, len, &event) || thread_history__event(history, &event))
		ok(false, "a valid record was refused");
	free(exact);
}

static void feed_other(struct thread_history *history, uint32_t tid, uint64_t t_ns, uint64_t ns)
{
	struct fixture_stack rec = fixture__other(tid, t_ns, ns, JANK_STATE_SLEEP);

	feed(history, &rec);
}

static unsigned record_cnt(const struct thread_history *history, uint32_t tid)
{
	const struct other_record *record = thread_history__newest(history, tid);
	unsigned cnt = 0;

	for (; record; record = record->older)
		cnt++;
	return cnt;
}

static void test_records(void)
{
	static const uint16_t prios[] = { 7, 8 };
	struct thread_history *history = fresh(HISTORY_BYTES_MAX);
	struct fixture_stack span = fixture__other(21, 100, 50, JANK_STATE_RUNNABLE);
	const struct other_record *record;

	ok(!thread_history__newest(history, 21), "nothing is known at first");
	feed_other(history, 21, 10, 5);
	fixture__slice(&span, 71, 5);
	fixture__slice(&span, 72, 6);
	fixture__prios(&span, prios);
	feed(history, &span);
	feed_other(history, 22, 200, 5);
	is_uint(record_cnt(history, 21), 2, "each thread has its own records");
	is_uint(record_cnt(history, 22), 1, "another thread its own");
	record = thread_history__newest(history, 21);
	ok(record->event.rec.t_ns == 100 && record->older->event.rec.t_ns == 10,
	   "the last comes first");
	ok(record->event.addresses[4] == 0x403000 && record->event.slices[1].tid == 72 &&
		   record->event.prios[1] == 8,
	   "with all its tails");
	ok(!record->older->event.prios && !record->waited, "and no others");
	thread_history__free(history);
	thread_history__free(NULL);
}

static void test_traced(void)
{
	struct thread_history *history = fresh(HISTORY_BYTES_MAX);
	struct fixture_stack part = fixture__stack(11, 100, 120, 30);

	part.rec.hdr.flags = JANK_STACK_OPEN;
	feed(history, &part);
	part.rec.hdr.flags = 0;
	part.rec.ns = 90;
	feed(history, &part);
	is_uint(record_cnt(history, 11), 1, "threads with a dispatch have records for others, too");
	is_uint(thread_history__newest(history, 11)->event.rec.ns, 90,
		"an open span's full record replaces it");
	thread_history__free(history);
}

static uint32_t newest_owner(const struct thread_history *history, uint32_t tid)
{
	const struct jank_rec_waited *waited = thread_history__newest(history, tid)->waited;

	return waited ? waited->owner : 0;
}

static void test_waited(void)
{
	struct thread_history *history = fresh(HISTORY_BYTES_MAX);
	struct jank_rec_waited mine = fixture__waited(21, 0, 100, 70);
	struct jank_rec_waited other = fixture__waited(22, 0, 100, 71);

	feed(history, &mine);
	feed(history, &other);
	feed_other(history, 22, 100, 5);
	feed_other(history, 21, 100, 5);
	is_uint(newest_owner(history, 21), 70, "what a span waited for stays with it");
	is_uint(newest_owner(history, 22), 71, "whatever came between");
	feed_other(history, 21, 100, 5);
	is_uint(newest_owner(history, 21), 0, "once");
	feed(history, &mine);
	feed_other(history, 21, 101, 5);
	is_uint(newest_owner(history, 21), 0, "not with a span of another begin");
	feed_other(history, 21, 100, 5);
	is_uint(newest_owner(history, 21), 0, "and it waits for one record only");
	mine.dispatch_ns = 9;
	feed(history, &mine);
	feed_other(history, 21, 100, 5);
	is_uint(newest_owner(history, 21), 0, "nor with one of another dispatch");
	thread_history__free(history);
}

static void test_bound(void)
{
	struct thread_history *history = fresh(20 * RECORD_SZ);

	for (uint64_t i = 0; i < 1000; i++)
		feed_other(history, 20 + i % 5, i * 2 * NS_PER_SEC, 5);
	ok(thread_history__bytes(history) <= 20 * RECORD_SZ &&
		   thread_history__bytes(history) > 10 * RECORD_SZ,
	   "memory is bounded");
	is_uint(losses.cnt[LOSS_EVIDENCE_CAPPED], 0, "records dropped by age are no loss");
	is_uint(thread_history__newest(history, 24)->event.rec.t_ns, 999 * 2 * NS_PER_SEC,
		"the latest ones are kept");
	for (uint64_t i = 0; i < 100; i++)
		feed_other(history, 50, 2000 * NS_PER_SEC + i, 5);
	ok(!thread_history__newest(history, 24), "the oldest are dropped, with their threads");
	ok(losses.cnt[LOSS_EVIDENCE_CAPPED] >= 80, "younger than ten seconds: counted");
	thread_history__free(history);
	history = fresh(10);
	feed_other(history, 21, 10, 5);
	ok(!thread_history__newest(history, 21) && !thread_history__bytes(history),
	   "a record larger than the bound is dropped");
	thread_history__free(history);
}

static void test_age(void)
{
	struct thread_history *history = fresh(HISTORY_BYTES_MAX);

	feed_other(history, 21, 1, 5);
	feed_other(history, 22, 590 * NS_PER_SEC, 5);
	ok(thread_history__newest(history, 21), "records are kept for minutes");
	feed_other(history, 22, 601 * NS_PER_SEC, 5);
	ok(!thread_history__newest(history, 21), "not for ever");
	is_uint(record_cnt(history, 22), 2, "the others stay");
	is_uint(losses.cnt[LOSS_EVIDENCE_CAPPED], 0, "which is no loss");
	thread_history__free(history);
}

static void test_rest(void)
{
	struct thread_history *history = fresh(HISTORY_BYTES_MAX);

	feed_other(history, 21, 100 * NS_PER_SEC, 5);
	feed_other(history, 22, 200 * NS_PER_SEC, 5);
	thread_history__rest(history, 216 * NS_PER_SEC, 102 * NS_PER_SEC);
	ok(thread_history__newest(history, 21), "a dispatch has been open since before a record");
	thread_history__rest(history, 216 * NS_PER_SEC, 100 * NS_PER_SEC);
	ok(!thread_history__newest(history, 21) && thread_history__newest(history, 22),
	   "15 s before the oldest one, records are dropped");
	thread_history__rest(history, 216 * NS_PER_SEC, 0);
	is_uint(thread_history__bytes(history), 0, "without an open one all but 15 s");
	thread_history__free(history);
}

static void test_names(void)
{
	struct thread_history *history = fresh(HISTORY_BYTES_MAX);
	struct fixture_stack span = fixture__other(21, 100, 50, JANK_STATE_FUTEX);
	struct jank_rec_block block = fixture__block(31, 1, 5);
	struct jank_rec_waited waited = fixture__waited(21, 0, 200, 70);
	struct other_task task;

	fixture__woken_by(&span, 41);
	memcpy(span.rec.waker.comm, "a waker of 16 by", JANK_COMM_SZ);
	feed(history, &span);
	ok(thread_history__task(history, 21, &task) && task.pid == 20 && task.tid == 21 &&
		   !*task.comm,
	   "a thread without a name is known by its records");
	ok(thread_history__task(history, 41, &task) && task.pid == 40, "and as a waker");
	is_str(task.comm, "a waker of 16 by", "with its whole name");
	feed(history, &waited);
	feed(history, &span);
	thread_history__task(history, 21, &task);
	is_str(task.comm, "worker", "a name stays when a record has none");
	feed(history, &block);
	thread_history__task(history, 31, &task);
	is_str(task.comm, "worker", "a block has its thread's name");
	ok(!thread_history__task(history, 99, &task), "other threads are unknown");
	thread_history__free(history);
}

static void test_known_tasks(void)
{
	struct known_tasks *tasks = known_tasks__new();

	known_tasks__record(tasks, 10, 11, "first\0\0\0\0\0\0\0\0\0\0");
	known_tasks__record(tasks, 20, 11, NULL);
	is_str(known_tasks__find(tasks, 11)->comm, "", "another process's thread has no name yet");
	known_tasks__record(tasks, 0, 0, "swapper/0\0\0\0\0\0\0");
	ok(!known_tasks__find(tasks, 0), "the idle tasks are none");
	for (uint32_t tid = 100; tid < 100 + TASK_MAX - 1; tid++)
		known_tasks__record(tasks, 10, tid, NULL);
	ok(known_tasks__find(tasks, 11), "%d threads are known", TASK_MAX);
	known_tasks__record(tasks, 20, 11, NULL);
	known_tasks__record(tasks, 10, 99, NULL);
	ok(known_tasks__find(tasks, 11) && !known_tasks__find(tasks, 100),
	   "then the one that was not seen for longest is dropped");
	known_tasks__free(tasks);
	known_tasks__free(NULL);
}

int main(void)
{
	test_records();
	test_traced();
	test_waited();
	test_bound();
	test_age();
	test_rest();
	test_names();
	test_known_tasks();
	return tap__done();
}
