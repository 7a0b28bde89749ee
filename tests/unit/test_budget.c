/* SPDX-License-Identifier: GPL-2.0 */
/* The budget of the evidence: which holder is reduced next, and a bound that always holds. */
#include "model/evidence.h"

#include <stdlib.h>

#include "tests/tap.h"

#define MAX	   10000
#define HOLDER_CNT 300
#define THINNABLE  100 /* a holder of more than this can be thinned */

static struct holder holders[HOLDER_CNT];

static void set(struct budget *budget, struct holder *holder, size_t bytes)
{
	if (budget__set(budget, holder, bytes, bytes > THINNABLE))
		ok(false, "out of memory");
}

/* Does what the budget asks for; returns how often. */
static unsigned make_room(struct budget *budget)
{
	struct holder *holder;
	enum budget_step step;
	unsigned cnt = 0;

	while ((step = budget__step(budget, &holder)) != BUDGET_FITS && cnt < 100000) {
		set(budget, holder, step == BUDGET_THIN ? holder->bytes / 2 : 0);
		cnt++;
	}
	return cnt;
}

static void test_order(void)
{
	struct budget *budget = budget__new(MAX);
	struct holder old = { .since_ns = 1 }, large = { .since_ns = 2 }, *holder;

	is_int(budget__step(budget, &holder), BUDGET_FITS, "an empty budget fits");
	set(budget, &old, 90);
	set(budget, &large, MAX - 90);
	is_int(budget__step(budget, &holder), BUDGET_FITS, "so does a full one");
	budget__set_waiting(budget, 1);
	is_int(budget__step(budget, &holder), BUDGET_THIN, "what waits for the sinks counts");
	ok(holder == &large, "the largest is thinned first");
	set(budget, &large, 95);
	budget__set_waiting(budget, MAX);
	is_int(budget__step(budget, &holder), BUDGET_DROP,
	       "if none can be thinned, one is dropped");
	ok(holder == &old, "namely the oldest");
	set(budget, &old, 0);
	ok(budget__step(budget, &holder) == BUDGET_DROP && holder == &large,
	   "then the next oldest");
	set(budget, &large, 0);
	is_int(budget__step(budget, &holder), BUDGET_FITS,
	       "what waits for the sinks cannot be reduced");
	set(budget, &large, MAX);
	set(budget, &old, THINNABLE + 1);
	budget__set(budget, &large, MAX, false);
	ok(budget__step(budget, &holder) == BUDGET_DROP && holder == &old,
	   "a holder of less than the average is not thinned for others");
	budget__free(budget);
	budget__free(NULL);
}

/* The oldest of those that hold something, by a scan of all. */
static uint64_t oldest(void)
{
	uint64_t ret = UINT64_MAX;

	for (size_t i = 0; i < HOLDER_CNT; i++)
		if (holders[i].bytes && holders[i].since_ns < ret)
			ret = holders[i].since_ns;
	return ret;
}

/* Is it in the class of the largest that can be thinned, that is at least 2/3 of it? */
static bool is_large(size_t bytes)
{
	size_t max = 0;

	for (size_t i = 0; i < HOLDER_CNT; i++)
		if (holders[i].bytes > THINNABLE && holders[i].bytes > max)
			max = holders[i].bytes;
	return bytes >= max / 3 * 2 - 1;
}

static void test_random(void)
{
	struct budget *budget = budget__new(MAX);
	bool right = true, counted = true;
	unsigned thins = 0, drops = 0;

	srand(7);
	for (unsigned round = 0; round < 20000; round++) {
		struct holder *holder = &holders[rand() % HOLDER_CNT], *next;
		enum budget_step step;
		size_t sum = 0;

		if (!holder->bytes || rand() % 20 == 0) {
			set(budget, holder, 0);
			holder->since_ns = 1 + rand() % 1000;
		}
		set(budget, holder, holder->bytes + 1 + rand() % (rand() % 10 ? 60 : 1000));
		budget__set_waiting(budget, rand() % (MAX / 2));
		step = budget__step(budget, &next);
		right &= step != BUDGET_THIN || is_large(next->bytes);
		right &= step != BUDGET_DROP || next->since_ns == oldest();
		thins += step == BUDGET_THIN;
		drops += step == BUDGET_DROP;
		make_room(budget);
		for (size_t i = 0; i < HOLDER_CNT; i++)
			sum += holders[i].bytes;
		counted &= sum == budget__bytes(budget) && sum <= MAX;
	}
	ok(right, "each time the largest is thinned or the oldest dropped");
	ok(counted, "the sum counts all holders and stays within the bound");
	ok(thins > 100 && drops > 100, "%u times thinned, %u times dropped", thins, drops);
	for (size_t i = 0; i < HOLDER_CNT; i++)
		set(budget, &holders[i], 0);
	is_uint(budget__bytes(budget), 0, "the sum is 0 when all are gone");
	budget__free(budget);
}

/* One user has 3,000 open dispatches, another one 10, which are the oldest and the largest. */
static void test_users(void)
{
	static struct holder many[3000], few[10];
	struct budget *budget = budget__new(30 * 3000);
	size_t kept = 0, left = 0;

	for (size_t i = 0; i < 10; i++) {
		few[i] = (struct holder){ .since_ns = 1 + i, .uid = 1 };
		set(budget, &few[i], 200);
	}
	for (size_t i = 0; i < 3000; i++) {
		many[i] = (struct holder){ .since_ns = 100 + i, .uid = 2 };
		set(budget, &many[i], 90);
		make_room(budget);
	}
	for (size_t i = 0; i < 10; i++)
		kept += few[i].bytes;
	for (size_t i = 0; i < 3000; i++)
		left += many[i].bytes;
	is_uint(kept, 10 * 200, "a user who holds little loses nothing to one who holds much");
	ok(left <= 30 * 3000 - kept && left > 30 * 3000 - kept - 100, "who has the rest: %d",
	   (int)left);
	for (size_t i = 0; i < 10; i++)
		set(budget, &few[i], 0);
	for (size_t i = 0; i < 3000; i++)
		set(budget, &many[i], 0);
	is_uint(budget__bytes(budget), 0, "in the end nothing is counted");
	budget__free(budget);
}

/* Users beyond the limit of accounts share one. */
static void test_many_users(void)
{
	static struct holder all[2 * BUDGET_USERS_MAX];
	struct budget *budget = budget__new(100);
	struct holder *next;

	for (size_t i = 0; i < 2 * BUDGET_USERS_MAX; i++) {
		all[i] = (struct holder){ .since_ns = i + 1, .uid = 1000 + (uint32_t)i };
		set(budget, &all[i], 10);
	}
	ok(budget__step(budget, &next) == BUDGET_DROP && next == &all[BUDGET_USERS_MAX],
	   "the shared account holds most, and its oldest is dropped");
	make_room(budget);
	ok(budget__bytes(budget) <= 100, "the bound holds");
	for (size_t i = 0; i < 2 * BUDGET_USERS_MAX; i++)
		set(budget, &all[i], 0);
	budget__free(budget);
}

int main(void)
{
	test_order();
	test_random();
	test_users();
	test_many_users();
	return tap__done();
}
