/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/governor.h"

#include <stddef.h>

#include "base/clock.h"

#define SETTLE	     1 /* period until a step shows in the cost */
#define SEEN_MIN     3 /* periods before the first step: a start costs more than the run */
#define SEEN_NEXT    2 /* periods before each step after it */
#define ROOM_PCT     60
#define FAR_OVER     2 /* times the budget: do not wait for the effect of the last step */
#define EARLY_NS     (60 * NS_PER_SEC) /* over again so soon: it was given back too early */
#define PATIENCE_MAX (3600 * NS_PER_SEC)

uint64_t governor__cost(const struct governor *gov)
{
	unsigned cnt = gov->cost_cnt < GOVERNOR_WINDOW ? gov->cost_cnt : GOVERNOR_WINDOW;
	uint64_t sum = 0;

	for (unsigned i = 0; i < cnt; i++)
		sum += gov->costs_ns[i];
	return cnt ? sum / cnt : 0;
}

/* The mean since the last step, which is all that can be blamed on what is left. */
static void forget_costs(struct governor *gov)
{
	gov->cost_cnt = 0;
	gov->settle = SETTLE;
	gov->room_ns = 0;
}

static void add_cost(struct governor *gov, uint64_t elapsed_ns, uint64_t cost_ns)
{
	double rate = (double)cost_ns * NS_PER_SEC / (double)(elapsed_ns ? elapsed_ns : 1);

	gov->costs_ns[gov->cost_cnt++ % GOVERNOR_WINDOW] = (uint64_t)rate;
	if (gov->since_back_ns != UINT64_MAX)
		gov->since_back_ns += elapsed_ns;
	if (gov->since_back_ns != UINT64_MAX && gov->since_back_ns >= EARLY_NS)
		gov->patience_ns = gov->recover_ns; /* what was given back has held */
}

static bool may_give(struct governor *gov, uint64_t mean_ns, uint64_t elapsed_ns)
{
	if (mean_ns * 100 >= gov->budget_ns * ROOM_PCT)
		gov->room_ns = 0;
	else
		gov->room_ns += elapsed_ns;
	if (gov->patience_ns < gov->recover_ns)
		gov->patience_ns = gov->recover_ns;
	return (gov->level || gov->blind) && gov->room_ns >= gov->patience_ns;
}

enum governor_step governor__judge(struct governor *gov, uint64_t elapsed_ns, uint64_t cost_ns)
{
	bool far = cost_ns >= gov->budget_ns * FAR_OVER;
	unsigned seen = gov->level ? SEEN_NEXT : SEEN_MIN;
	uint64_t mean_ns;

	if (!gov->budget_ns)
		return gov->level || gov->blind ? GOVERNOR_GIVE : GOVERNOR_STAY;
	if (gov->settle && !far) {
		gov->settle--;
		return GOVERNOR_STAY;
	}
	add_cost(gov, elapsed_ns, cost_ns);
	mean_ns = governor__cost(gov);
	if (mean_ns > gov->budget_ns && gov->cost_cnt >= seen)
		return gov->blind ? GOVERNOR_STAY : GOVERNOR_TAKE;
	return may_give(gov, mean_ns, elapsed_ns) ? GOVERNOR_GIVE : GOVERNOR_STAY;
}

void governor__took(struct governor *gov, bool blind)
{
	if (gov->since_back_ns < EARLY_NS) {
		gov->patience_ns *= 2;
		if (gov->patience_ns > PATIENCE_MAX)
			gov->patience_ns = PATIENCE_MAX;
	} else {
		gov->patience_ns = gov->recover_ns;
	}
	gov->since_back_ns = UINT64_MAX;
	if (blind)
		gov->blind = true;
	else
		gov->level++;
	forget_costs(gov);
}

void governor__gave(struct governor *gov)
{
	if (gov->blind)
		gov->blind = false;
	else
		gov->level--;
	gov->since_back_ns = 0;
	forget_costs(gov);
}

bool governor__skip(struct governor *gov, bool (*is_used)(void *ctx, unsigned level), void *ctx)
{
	unsigned level = gov->level;

	while (gov->level >= GOVERNOR_PROCESSES && !is_used(ctx, gov->level))
		gov->level--;
	return gov->level != level;
}

const char *governor__word(const struct governor *gov)
{
	static const char *const words[] = {
		[GOVERNOR_ALL] = NULL,
		[GOVERNOR_NO_MARKS] = "marks",
		[GOVERNOR_NO_COPIES] = "stack_copies",
		[GOVERNOR_NO_SAMPLES] = "sampling",
		[GOVERNOR_NO_POOLS] = "pools",
		[GOVERNOR_PROCESSES] = "processes",
	};

	if (gov->blind)
		return "blind";
	return words[gov->level < GOVERNOR_PROCESSES ? gov->level : GOVERNOR_PROCESSES];
}
