/* SPDX-License-Identifier: GPL-2.0 */
/* When the governor of a budget takes something away, and when it gives it back. */
#include "model/governor.h"

#include <string.h>

#include "base/clock.h"
#include "tests/tap.h"

#define BUDGET_NS (10 * NS_PER_MS) /* of each second */
#define S	  NS_PER_SEC

static struct governor fresh(void)
{
	return (struct governor){ .budget_ns = BUDGET_NS,
				  .recover_ns = 30 * S,
				  .since_back_ns = UINT64_MAX };
}

/* Seconds of this cost until a step; the step is done. 0: none in max seconds. */
static unsigned run(struct governor *gov, uint64_t cost_ns, unsigned max, enum governor_step want)
{
	for (unsigned i = 1; i <= max; i++) {
		enum governor_step step = governor__judge(gov, S, cost_ns);

		if (step == GOVERNOR_STAY)
			continue;
		if (step != want)
			return 1000;
		if (step == GOVERNOR_TAKE)
			governor__took(gov, gov->level == GOVERNOR_PROCESSES + 1);
		else
			governor__gave(gov);
		return i;
	}
	return 0;
}

static void test_take(void)
{
	static const char *const order[] = { "marks",	  "stack_copies", "sampling", "pools",
					     "processes", "processes",	  "blind" };
	struct governor gov = fresh();

	is_uint(run(&gov, BUDGET_NS, 100, GOVERNOR_TAKE), 0, "the budget itself may be used");
	ok(!governor__word(&gov), "nothing is taken");
	gov = fresh();
	is_uint(run(&gov, 12 * NS_PER_MS, 100, GOVERNOR_TAKE), 3, "over it: not at once");
	is_uint(run(&gov, 12 * NS_PER_MS, 100, GOVERNOR_TAKE), 3, "the next after it has settled");
	is_uint(run(&gov, 90 * NS_PER_MS, 100, GOVERNOR_TAKE), 2, "far over: without waiting");
	gov = fresh();
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		run(&gov, 90 * NS_PER_MS, 100, GOVERNOR_TAKE);
		is_str(governor__word(&gov), order[i], "step %zu", i + 1);
	}
	is_uint(run(&gov, 90 * NS_PER_MS, 100, GOVERNOR_TAKE), 0, "blind is the last");
	is_uint(gov.level, 6, "its level stays");
}

/* A start costs more than the run; a second of much is no reason. */
static void test_burst(void)
{
	struct governor gov = fresh();

	run(&gov, 5 * NS_PER_MS, 20, GOVERNOR_TAKE);
	is_uint(run(&gov, 50 * NS_PER_MS, 1, GOVERNOR_TAKE), 0,
		"one second of five times the budget");
	is_uint(run(&gov, 5 * NS_PER_MS, 20, GOVERNOR_TAKE), 0, "is within it over ten");
	is_uint(run(&gov, 20 * NS_PER_MS, 20, GOVERNOR_TAKE), 4, "more for four is not");
}

static void test_give(void)
{
	struct governor gov = fresh();

	run(&gov, 20 * NS_PER_MS, 100, GOVERNOR_TAKE);
	is_uint(run(&gov, 7 * NS_PER_MS, 100, GOVERNOR_GIVE), 0, "70 %% of it is no room");
	is_uint(run(&gov, 3 * NS_PER_MS, 100, GOVERNOR_GIVE), 32, "30 %% is, after 30 s");
	is_uint(gov.level, 0, "it is given back");
	run(&gov, 20 * NS_PER_MS, 100, GOVERNOR_TAKE);
	is_uint(run(&gov, 3 * NS_PER_MS, 200, GOVERNOR_GIVE), 61, "too early: twice as long");
	run(&gov, 20 * NS_PER_MS, 100, GOVERNOR_TAKE);
	gov.patience_ns = 3000 * S;
	gov.since_back_ns = 0;
	governor__took(&gov, false);
	is_uint(gov.patience_ns, 3600 * S, "an hour at most");
}

static void test_off(void)
{
	struct governor gov = fresh();

	run(&gov, 20 * NS_PER_MS, 100, GOVERNOR_TAKE);
	gov.budget_ns = 0;
	is_uint(run(&gov, 20 * NS_PER_MS, 100, GOVERNOR_GIVE), 1,
		"without a budget all is given back");
	is_uint(run(&gov, 20 * NS_PER_MS, 100, GOVERNOR_GIVE), 0, "and nothing taken");
}

static bool is_five(void *ctx, unsigned level)
{
	(void)ctx;
	return level == GOVERNOR_PROCESSES;
}

static bool is_none(void *ctx, unsigned level)
{
	(void)ctx;
	(void)level;
	return false;
}

/* A level that came back too early makes only that one late. */
static void test_way_back(void)
{
	struct governor gov = fresh();

	while (gov.level < GOVERNOR_PROCESSES + 3)
		governor__took(&gov, false);
	run(&gov, NS_PER_MS, 100, GOVERNOR_GIVE);
	run(&gov, 90 * NS_PER_MS, 100, GOVERNOR_TAKE);
	ok(run(&gov, NS_PER_MS, 200, GOVERNOR_GIVE) > 60, "given back too early: later now");
	ok(run(&gov, NS_PER_MS, 200, GOVERNOR_GIVE) > 60,
	   "the next, as long as it is not known to hold");
	for (unsigned i = 0; i < 70; i++)
		governor__judge(&gov, S, 8 * NS_PER_MS);
	is_uint(run(&gov, NS_PER_MS, 200, GOVERNOR_GIVE), 32, "it held: without more delay");
	gov.level = GOVERNOR_PROCESSES + 4;
	ok(governor__skip(&gov, is_five, NULL) && gov.level == GOVERNOR_PROCESSES,
	   "levels of ended processes are skipped");
	ok(!governor__skip(&gov, is_five, NULL), "but not one of a living process");
	ok(governor__skip(&gov, is_none, NULL) && gov.level == GOVERNOR_NO_POOLS,
	   "nor one that is not of a process");
	ok(!governor__skip(&gov, is_none, NULL), "which stays");
}

int main(void)
{
	test_take();
	test_burst();
	test_give();
	test_off();
	test_way_back();
	return tap__done();
}
