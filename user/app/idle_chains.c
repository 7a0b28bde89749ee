/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The outermost place that is visited again and again. Frames are counted, not bytes of stack: a wait with large arrays lies deeper than its
 * handlers. A thread that works most of the time waits for its own helpers, not for work: a batch program's main thread.
 */
#include "app/idle_chains.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define CHAIN_MAX 16
#define FRAME_MAX 64
#define VISITS	  3 /* that make an idle place */
#define SELDOM	  8 /* a place further out that is visited so much less often does not count */
#define LOOK_NS	  (500 * NS_PER_MS) /* so long the thread must be known */

struct chain {
	uint64_t addresses[FRAME_MAX];
	uint32_t cnt, depth, visit_cnt;
	int32_t nr;
	bool sleeps;
	uint64_t first_ns, last_ns;
};

struct idle_chains {
	struct chain chains[CHAIN_MAX];
	uint32_t cnt;
	uint32_t idle_depth; /* 0: no idle place is known */
	int32_t idle_nr;
	bool idle_sleeps;
	uint64_t since_ns, since_cpu_ns;
};

struct idle_chains *idle_chains__new(void)
{
	return calloc(1, sizeof(struct idle_chains));
}

void idle_chains__free(struct idle_chains *chains)
{
	free(chains);
}

static bool is_same(const struct chain *chain, const struct idle_visit *visit)
{
	uint32_t cnt = visit->cnt < FRAME_MAX ? visit->cnt : FRAME_MAX;

	return chain->cnt == cnt &&
	       !memcmp(chain->addresses, visit->addresses, cnt * sizeof(*visit->addresses));
}

/* The one that was visited longest ago makes room. */
static struct chain *new_chain(struct idle_chains *chains)
{
	struct chain *oldest = &chains->chains[0];

	if (chains->cnt < CHAIN_MAX)
		return &chains->chains[chains->cnt++];
	for (uint32_t i = 1; i < CHAIN_MAX; i++)
		if (chains->chains[i].last_ns < oldest->last_ns)
			oldest = &chains->chains[i];
	return oldest;
}

static struct chain *chain_of(struct idle_chains *chains, const struct idle_visit *visit)
{
	struct chain *chain;

	for (uint32_t i = 0; i < chains->cnt; i++)
		if (is_same(&chains->chains[i], visit))
			return &chains->chains[i];
	chain = new_chain(chains);
	*chain = (struct chain){
		.depth = visit->depth,
		.nr = visit->nr,
		.sleeps = visit->sleeps,
		.first_ns = visit->now_ns,
	};
	chain->cnt = visit->cnt < FRAME_MAX ? visit->cnt : FRAME_MAX;
	memcpy(chain->addresses, visit->addresses, chain->cnt * sizeof(*chain->addresses));
	return chain;
}

/* A sleep is only a loop's where the thread waits for nothing else. */
static bool is_further_out(const struct chain *chain, const struct chain *than)
{
	return chain->sleeps == than->sleeps ? chain->depth < than->depth : than->sleeps;
}

/* How often the one further out is visited that is visited most. */
static uint32_t outer_visits(const struct idle_chains *chains, const struct chain *chain)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < chains->cnt; i++)
		if (is_further_out(&chains->chains[i], chain) && chains->chains[i].visit_cnt > cnt)
			cnt = chains->chains[i].visit_cnt;
	return cnt;
}

/* Of the idle place: with a timeout and without, it is the same call from as far out. */
static bool is_known(const struct idle_chains *chains, const struct chain *chain)
{
	return chains->idle_depth == chain->depth && chains->idle_nr == chain->nr;
}

/* Another call from as far out is made when work has come: interpreters make all calls from one depth. */
static bool is_beside(const struct idle_chains *chains, const struct chain *chain)
{
	return chains->idle_depth == chain->depth && chains->idle_sleeps == chain->sleeps &&
	       chains->idle_nr != chain->nr;
}

/* A sleep is a loop's, as a frame loop's is, if it is visited so often in a second. */
#define SLEEPS_PER_S 5

static bool is_seldom(const struct chain *chain, const struct idle_visit *visit)
{
	uint64_t ns = visit->now_ns - chain->first_ns;

	return visit->sleeps && (chain->visit_cnt - 1) * (uint64_t)NS_PER_SEC < ns * SLEEPS_PER_S;
}

static bool rests(const struct idle_chains *chains, const struct idle_visit *visit)
{
	uint64_t ns = visit->now_ns - chains->since_ns;

	return ns >= LOOK_NS && visit->cpu_ns - chains->since_cpu_ns < ns / 2;
}

/* Of all that are as far out: loops have several waits, with a timeout and without. */
static uint32_t visits_at(const struct idle_chains *chains, uint32_t depth)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < chains->cnt; i++)
		cnt += chains->chains[i].depth == depth ? chains->chains[i].visit_cnt : 0;
	return cnt;
}

enum idle_verdict idle_chains__visit(struct idle_chains *chains, const struct idle_visit *visit)
{
	struct chain *chain = chain_of(chains, visit);
	uint32_t outer_cnt;
	bool takes_over;

	if (!chains->since_ns) {
		chains->since_ns = visit->now_ns;
		chains->since_cpu_ns = visit->cpu_ns;
	}
	chain->visit_cnt++;
	chain->last_ns = visit->now_ns;
	outer_cnt = outer_visits(chains, chain);
	if (outer_cnt >= VISITS || is_beside(chains, chain))
		return IDLE_NO;
	if (outer_cnt * SELDOM > visits_at(chains, chain->depth))
		return IDLE_UNKNOWN;
	if (is_known(chains, chain) && !chain->sleeps)
		return IDLE_YES;
	if (chain->visit_cnt < VISITS || is_seldom(chain, visit) || !rests(chains, visit))
		return IDLE_UNKNOWN;
	takes_over = chains->idle_depth && !is_known(chains, chain);
	chains->idle_depth = chain->depth;
	chains->idle_nr = chain->nr;
	chains->idle_sleeps = chain->sleeps;
	return takes_over ? IDLE_OUTER : IDLE_YES;
}
