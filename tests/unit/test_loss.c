/* SPDX-License-Identifier: GPL-2.0 */
/* Losses are counted by reason, each reason has a word, and any thread may count. */
#include "model/loss.h"

#include <pthread.h>
#include <stdlib.h>

#include "model/block.h"
#include "tests/tap.h"

static void test_keys(void)
{
	bool good = true;

	for (int i = 0; i < LOSS_CNT; i++) {
		const char *key = loss__key(i);

		good &= key && key[0] && key[strspn(key, "abcdefghijklmnopqrstuvwxyz_")] == '\0';
		for (int j = 0; j < i; j++)
			good &= !!strcmp(key, loss__key(j));
	}
	ok(good, "every reason has a word of its own");
	is_int(LOSS_BAD_RECORD, JANK_LOSS_CNT, "user space's reasons come after the kernel's");
	is_str(loss__key(JANK_LOST_RING_FULL), "ring_full", "a kernel reason");
	is_str(loss__key(LOSS_JOURNAL), "unwritten_journal", "a reason of user space");
	is_str(loss__key(-1), "unknown", "no reason below");
	is_str(loss__key(LOSS_CNT), "unknown", "nor above");
}

static void test_list(void)
{
	struct losses losses = { 0 }, then;
	struct block_loss *list = (struct block_loss *)&losses;
	size_t cnt = 9;

	ok(!losses__list(&losses, &list, &cnt) && !list && !cnt, "nothing lost: no list");
	losses__add(&losses, LOSS_QUEUE_FULL, 2);
	losses__add(&losses, JANK_LOST_NO_STACK, 1);
	losses__add(&losses, LOSS_QUEUE_FULL, 3);
	is_uint(losses__total(&losses), 6, "the total");
	is_int(losses__list(&losses, &list, &cnt), 0, "a list");
	is_uint(cnt, 2, "only those that happened are listed");
	is_str(list[0].reason, "stack_failed", "in the order of reasons");
	is_str(list[1].reason, "queue_full", "in the order of reasons");
	is_uint(list[1].cnt, 5, "with their counts");
	ok(!losses__set_listed(&list, &cnt, LOSS_QUEUE_FULL, 7) && cnt == 2 && list[1].cnt == 7,
	   "a count is set");
	ok(!losses__set_listed(&list, &cnt, LOSS_SPOOL_FULL, 0) && cnt == 2, "0 adds none");
	ok(!losses__set_listed(&list, &cnt, LOSS_SPOOL_FULL, 4) && cnt == 3 && list[2].cnt == 4,
	   "another reason is added");
	ok(!losses__set_listed(&list, &cnt, LOSS_QUEUE_FULL, 0) && cnt == 2 && list[1].cnt == 4,
	   "0 takes one out");
	then = losses;
	losses__add(&losses, LOSS_SPOOL_FULL, 2);
	losses__add(&losses, LOSS_NAMES, 9);
	ok(!losses__add_since(&list, &cnt, &then, &losses) && cnt == 3 && list[1].cnt == 6 &&
		   list[2].cnt == 9,
	   "what came since is added, to a known reason and to another one");
	is_str(list[2].reason, "names_cut_short", "by its name");
	ok(!losses__add_since(&list, &cnt, &losses, &losses) && cnt == 3 && list[1].cnt == 6,
	   "nothing came since");
	free(list);
}

#define ROUNDS 100000

static void *count(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		losses__add(arg, LOSS_UNWRITTEN, 1);
	return NULL;
}

static void test_threads(void)
{
	struct losses losses = { 0 };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, count, &losses))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	is_uint(losses.cnt[LOSS_UNWRITTEN], 2 * ROUNDS, "two threads count without a loss");
}

int main(void)
{
	test_keys();
	test_list();
	test_threads();
	return tap__done();
}
