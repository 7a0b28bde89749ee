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
	uint64_t last_ns;
};

struct idle_chains {
	struct chain chains[CHAIN_MAX];
	uint32_t cnt;
	uint32_t idle_depth; /* 0: no idle place is known */
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
	*chain = (struct chain){ .depth = visit->depth };
	chain->cnt = visit->cnt < FRAME_MAX ? visit->cnt : FRAME_MAX;
	memcpy(chain->addresses, visit->addresses, chain->cnt * sizeof(*chain->addresses));
	return chain;
}

/* How often the one further out is visited that is visited most. */
static uint32_t outer_visits(const struct idle_chains *chains, const struct chain *chain)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < chains->cnt; i++)
		if (chains->chains[i].depth < chain->depth && chains->chains[i].visit_cnt > cnt)
			cnt = chains->chains[i].visit_cnt;
	return cnt;
}

static bool rests(const struct idle_chains *chains, const struct idle_visit *visit)
{
	uint64_t ns = visit->now_ns - chains->since_ns;

	return ns >= LOOK_NS && visit->cpu_ns - chains->since_cpu_ns < ns / 2;
}

enum idle_verdict idle_chains__visit(struct idle_chains *chains, const struct idle_visit *visit)
{
	struct chain *chain = chain_of(chains, visit);
	uint32_t was_depth, outer_cnt;

	if (!chains->since_ns) {
		chains->since_ns = visit->now_ns;
		chains->since_cpu_ns = visit->cpu_ns;
	}
	chain->visit_cnt++;
	chain->last_ns = visit->now_ns;
	outer_cnt = outer_visits(chains, chain);
	if (outer_cnt >= VISITS)
		return IDLE_NO;
	if (chain->visit_cnt < VISITS || outer_cnt * SELDOM > chain->visit_cnt ||
	    !rests(chains, visit))
		return IDLE_UNKNOWN;
	was_depth = chains->idle_depth;
	chains->idle_depth = chain->depth;
	return was_depth > chain->depth ? IDLE_OUTER : IDLE_YES;
}
