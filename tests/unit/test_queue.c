/* SPDX-License-Identifier: GPL-2.0 */
/* The queue keeps order and bounds, and the end of a run always fits. Also built with TSan. */
#include "session/queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tests/tap.h"

static bool put_of(struct queue *queue, uint32_t uid, uint32_t pid, size_t size)
{
	const struct item item = { .kind = ITEM_BLOCK, .pid = pid, .uid = uid, .size = size };

	return queue__put(queue, &item) == QUEUE_ROOM;
}

static bool put(struct queue *queue, enum item_kind kind, uint32_t pid, size_t size)
{
	const struct item item = { .kind = kind, .pid = pid, .size = size };

	return queue__put(queue, &item) == QUEUE_ROOM;
}

static struct item get(struct queue *queue)
{
	struct item item = { 0 };

	queue__get(queue, 0, &item);
	return item;
}

static void test_order(void)
{
	struct queue *queue = queue__new(3, 100);
	int data;
	const struct item item = { ITEM_RAW, &data, 7, 42, 1000 };
	struct item got;
	bool ordered = true;

	ok(queue__put(queue, &item) == QUEUE_ROOM, "an item is accepted");
	got = get(queue);
	ok(got.kind == ITEM_RAW && got.data == &data && got.size == 7 && got.pid == 42,
	   "and returned unchanged");
	for (uint32_t i = 0; i < 50; i++) {
		put(queue, ITEM_BLOCK, 2 * i, 0);
		put(queue, ITEM_PROCESS, 2 * i + 1, 0);
		ordered &= get(queue).pid == 2 * i && get(queue).pid == 2 * i + 1;
	}
	ok(ordered, "first in, first out, any number of times around");
	queue__free(queue);
	queue__free(NULL);
}

static void test_busy(void)
{
	struct queue *queue = queue__new(3, 100);
	const uint64_t begin = clock__mono_ns();
	struct item item;
	uint64_t since;

	put(queue, ITEM_BLOCK, 1, 0);
	put(queue, ITEM_BLOCK, 2, 0);
	ok(!queue__busy_ns(queue), "no item was requested yet");
	get(queue);
	since = queue__busy_ns(queue);
	ok(since >= begin, "busy since the first item");
	get(queue);
	ok(queue__busy_ns(queue) == since,
	   "and with the next one, for which the reader did not wait");
	queue__get(queue, begin, &item);
	ok(!queue__busy_ns(queue), "until it must wait");
	queue__free(queue);
}

static void test_bounds(void)
{
	struct queue *queue = queue__new(3, 100);

	for (int i = 0; i < 3; i++)
		ok(put(queue, ITEM_BLOCK, i, 0), "item %d fits", i);
	ok(!put(queue, ITEM_BLOCK, 3, 0), "one more does not");
	ok(!put(queue, ITEM_PROCESS_GONE, 3, 0), "of any kind");
	get(queue);
	ok(put(queue, ITEM_BLOCK, 4, 0), "until one is taken out");
	is_uint(get(queue).pid, 1, "a refused item is not there");
	queue__free(queue);
}

static void test_bytes(void)
{
	struct queue *queue = queue__new(10, 100);

	ok(put(queue, ITEM_RAW, 0, 60) && put(queue, ITEM_RAW, 1, 40), "bytes up to the bound");
	ok(!put(queue, ITEM_RAW, 2, 1), "not one byte more");
	ok(put(queue, ITEM_BLOCK, 3, 0), "items without bytes are not limited by them");
	get(queue);
	ok(!put(queue, ITEM_RAW, 4, 61) && put(queue, ITEM_RAW, 4, 60),
	   "room comes back with bytes");
	ok(!put(queue, ITEM_RAW, 5, SIZE_MAX - 50), "an overflowing size does not fit");
	queue__free(queue);
}

static void test_end(void)
{
	struct queue *queue = queue__new(2, 10);

	put(queue, ITEM_RAW, 0, 10);
	put(queue, ITEM_BLOCK, 1, 0);
	ok(put(queue, ITEM_SUMMARY, 2, 0), "the summary fits into a full queue");
	ok(put(queue, ITEM_STOP, 3, 0), "so does the stop");
	ok(!put(queue, ITEM_BLOCK, 4, 0), "and nothing else");
	ok(put(queue, ITEM_STOP, 4, 0) && put(queue, ITEM_STOP, 5, 0), "four times");
	ok(!put(queue, ITEM_STOP, 6, 0), "a fifth end is too many");
	for (uint32_t i = 0; i < 6; i++)
		is_uint(get(queue).pid, i, "in order");
	queue__free(queue);
}

static void test_late(void)
{
	struct queue *queue = queue__new(2, 10);
	uint64_t begin_ns = clock__mono_ns(), late_ns = begin_ns + 20 * NS_PER_MS;
	struct item item;

	ok(!queue__get(queue, begin_ns, &item), "no wait until a time that has passed");
	ok(!queue__get(queue, late_ns, &item), "if nothing comes");
	ok(clock__mono_ns() >= late_ns, "it waits until the given time");
	put(queue, ITEM_RAW, 3, 0);
	ok(queue__get(queue, begin_ns, &item) && item.pid == 3,
	   "an available item is returned, however late");
	queue__free(queue);
}

#define ROUNDS 20000

static void *take_all(void *arg)
{
	uint64_t sum = 0;
	struct item item;

	for (;;) {
		queue__get(arg, 0, &item);
		if (item.kind == ITEM_STOP)
			return (void *)(uintptr_t)sum;
		sum += *(uint32_t *)item.data;
		free(item.data);
	}
}

static void *take_all_raw(void *arg)
{
	struct item item;

	do
		queue__get(arg, 0, &item);
	while (item.kind != ITEM_STOP);
	return NULL;
}

/* A reader that waits, and a writer that never does. */
static void test_threads(void)
{
	struct queue *queue = queue__new(64, 1 << 20);
	uint64_t sum = 0;
	unsigned refused = 0;
	pthread_t reader;
	void *got;

	if (pthread_create(&reader, NULL, take_all, queue))
		abort();
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint32_t *data = malloc(sizeof(*data));
		struct item item = { ITEM_BLOCK, data, 0, i, 0 };

		*data = i;
		if (queue__put(queue, &item) == QUEUE_ROOM) {
			sum += i;
			continue;
		}
		free(data);
		refused++;
	}
	ok(put(queue, ITEM_STOP, 0, 0), "the stop fits");
	pthread_join(reader, &got);
	is_uint((uintptr_t)got, sum,
		"a reader gets everything that was accepted, whatever was refused");
	diag("%u of %d items were refused", refused, ROUNDS);
	queue__free(queue);
}

static void count_urge(void *ctx)
{
	(*(_Atomic unsigned *)ctx)++;
}

/* A writer that finds the lock taken says so before it waits. */
static void test_urge(void)
{
	struct queue *queue = queue__new(64, 1 << 20);
	const struct item raw = { .kind = ITEM_RAW }, stop = { .kind = ITEM_STOP };
	const uint64_t deadline_ns = clock__mono_ns() + 30 * NS_PER_SEC;
	_Atomic unsigned cnt = 0;
	pthread_t reader;

	queue__on_contention(queue, count_urge, &cnt);
	queue__put(queue, &raw);
	queue__busy_ns(queue);
	is_int(cnt, 0, "a free lock needs no urging");
	if (pthread_create(&reader, NULL, take_all_raw, queue))
		abort();
	while (!cnt && clock__mono_ns() < deadline_ns)
		queue__put(queue, &raw);
	ok(cnt, "a taken one does");
	while (queue__put(queue, &stop) != QUEUE_ROOM)
		;
	pthread_join(reader, NULL);
	queue__free(queue);
}

static void drain(struct queue *queue)
{
	struct item item;

	while (queue__get(queue, 1, &item))
		;
}

/* A process with more blocks than can be written leaves room for others. */
static void test_shares(void)
{
	struct queue *queue = queue__new(100, 1000);
	unsigned hog = 0, other = 0;

	put(queue, ITEM_BLOCK, 8, 0);
	get(queue);
	while (put(queue, ITEM_BLOCK, 7, 10))
		hog++;
	ok(hog >= 70 && hog <= 80, "a process fills three quarters of the queue: %u of 100", hog);
	ok(!put(queue, ITEM_COPY, 7, 0), "with copies, too");
	while (put(queue, ITEM_BLOCK, 8, 10))
		other++;
	ok(other >= 15, "another one finds room: %u", other);
	ok(put(queue, ITEM_RAW, 7, 1), "items without a process are not shared out");
	while (get(queue).pid == 7)
		hog--;
	ok(put(queue, ITEM_BLOCK, 7, 10), "there is room again when its blocks are gone");
	drain(queue);
	queue__free(queue);
	queue = queue__new(100, 1000);
	put(queue, ITEM_COPY, 8, 0);
	get(queue);
	for (hog = 0; put(queue, ITEM_BLOCK, 7, 100); hog++)
		;
	ok(hog >= 7 && hog <= 8, "the same for bytes: %u of 10", hog);
	is_uint(queue__bytes(queue), 100 * hog, "the number can be queried");
	drain(queue);
	is_uint(queue__bytes(queue), 0, "and is 0 at the end");
	queue__free(queue);
	queue = queue__new(100, 1000);
	for (hog = 0; put(queue, ITEM_BLOCK, 7, 10); hog++)
		;
	is_uint(hog, 100, "the only process may use all of it");
	drain(queue);
	queue__free(queue);
}

/* A user with any number of processes leaves room for other users. */
static void test_users(void)
{
	const struct item over = { .kind = ITEM_BLOCK, .pid = 99, .uid = 1000 };
	struct queue *queue = queue__new(100, 100000);
	unsigned hog = 0, second = 0, other = 0;

	while (put_of(queue, 1000, 10 + hog, 0))
		hog++;
	is_uint(hog, 100, "the only user may use all of it");
	ok(queue__put(queue, &over) == QUEUE_FULL, "a full queue is not a matter of shares");
	drain(queue);
	put_of(queue, 0, 1, 0);
	get(queue);
	for (hog = 0; put_of(queue, 1000, 10 + hog, 0); hog++)
		;
	ok(hog >= 70 && hog <= 80, "then a user fills three quarters: %u of 100", hog);
	ok(queue__put(queue, &over) == QUEUE_OVER_SHARE,
	   "and the next one is refused for its share");
	while (put_of(queue, 1001, 500 + second, 0))
		second++;
	ok(second >= 15 && second < 25, "a second user fills what its share allows: %u", second);
	while (put_of(queue, 0, 900 + other, 0))
		other++;
	ok(other >= 2, "a third one still finds room: %u", other);
	for (unsigned i = 0; i < 40; i++)
		get(queue);
	ok(put_of(queue, 1000, 99, 0), "the first has room again when its items are gone");
	drain(queue);
	for (hog = 0; put_of(queue, 1000, 10 + hog, 10000); hog++)
		;
	ok(hog >= 7 && hog <= 8, "the same for bytes: %u of 10", hog);
	drain(queue);
	queue__free(queue);
}

static void work(unsigned ms)
{
	uint64_t until_ns = clock__mono_ns() + ms * NS_PER_MS;

	while (clock__mono_ns() < until_ns)
		;
}

/* Takes items, each for so long, until there is one of this user; returns how many came before. */
static unsigned items_before(struct queue *queue, uint32_t uid, unsigned ms)
{
	struct item item;

	for (unsigned cnt = 0;; cnt++) {
		if (!queue__get(queue, 1, &item) || item.uid == uid)
			return cnt;
		work(ms);
	}
}

/* A user with many items does not hold up others for long. */
static void test_turns(void)
{
	struct queue *queue = queue__new(100, 1000);
	uint32_t last = 0;
	struct item item;
	bool ordered = true;

	for (uint32_t i = 1; i <= 50; i++)
		put_of(queue, 1000, i, 0);
	put_of(queue, 1001, 1, 0);
	is_uint(items_before(queue, 1001, 0), 50, "while nothing takes long, the order is kept");
	for (uint32_t i = 1; i <= 50; i++)
		put_of(queue, 1000, i, 0);
	put_of(queue, 1001, 1, 0);
	put_of(queue, 1001, 2, 0);
	ok(items_before(queue, 1001, 30) <= 5, "another user waits for some 100 ms");
	is_uint(items_before(queue, 1001, 0), 0, "as long as it has had less of the reader's time");
	while (queue__get(queue, 1, &item)) {
		ordered &= item.uid == 1000 && item.pid > last;
		last = item.pid;
	}
	ok(ordered && last == 50, "the items of a user stay in order");

	for (uint32_t i = 1; i <= 20; i++)
		put_of(queue, 1000, i, 0);
	put(queue, ITEM_RAW, 0, 1);
	put_of(queue, 1001, 1, 0);
	is_uint(items_before(queue, 1001, 10), 21, "nothing overtakes an item of no process");
	queue__free(queue);
}

int main(void)
{
	test_order();
	test_busy();
	test_bounds();
	test_bytes();
	test_end();
	test_late();
	test_threads();
	test_urge();
	test_shares();
	test_users();
	test_turns();
	return tap__done();
}
