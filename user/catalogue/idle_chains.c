/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Idle chains: the outermost place that is visited repeatedly.
 *
 * Frames are counted, not stack bytes, because a wait with large arrays lies deeper than its
 * handlers. An interpreter's frames count first; C frames only compare waits with the same
 * interpreter frames. A thread that works most of the time waits for its own helpers, not for work:
 * for example a batch program's main thread.
 */
#include "catalogue/idle_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define IDLE_CHAIN_MAX 16
#define FRAME_MAX      64
#define VISITS	       3 /* needed for an idle place */
/* A place further out does not count if it is visited this many times less often. */
#define SELDOM	8
#define LOOK_NS (500 * NS_PER_MS) /* observation time before the first verdict */

/* As in idle_visit. */
struct idle_chains_place {
	uint32_t depth, script, script_depth;
	int32_t nr;
	bool sleeps, pauses, one_call;
};

struct chain {
	uint64_t addresses[FRAME_MAX];
	uint32_t cnt, visit_cnt;
	uint32_t in_row;       /* at the last visit */
	uint64_t wait_cnt;     /* visits, and the waits between them that were not asked about */
	uint64_t dispatch_ns;  /* at the last visit */
	uint32_t dispatch_cnt; /* visits in that dispatch */
	struct idle_chains_place place;
	uint64_t first_ns, last_ns;
};

struct idle_chains {
	struct chain chains[IDLE_CHAIN_MAX];
	uint32_t cnt;
	struct idle_chains_place idle;
	bool has_idle, has_locks;
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

	return chain->cnt == cnt && chain->place.script == visit->script &&
	       !memcmp(chain->addresses, visit->addresses, cnt * sizeof(*visit->addresses));
}

static struct idle_chains_place place_of(const struct idle_visit *visit)
{
	return (struct idle_chains_place){
		.depth = visit->depth,
		.script = visit->script,
		.script_depth = visit->script_depth,
		.nr = visit->nr,
		.sleeps = visit->sleeps,
		.pauses = visit->pauses,
		.one_call = visit->one_call,
	};
}

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

/*
 * Below 0: a is further out. If two waits have different interpreter frames of the same number,
 * their C frames are not compared.
 */
static int compare(const struct idle_chains_place *a, const struct idle_chains_place *b)
{
	if (!a->script || !b->script)
		return compare_numbers(a->depth, b->depth);
	if (a->script_depth != b->script_depth)
		return compare_numbers(a->script_depth, b->script_depth);
	return a->script == b->script && !a->one_call ? compare_numbers(a->depth, b->depth) : 0;
}

/* A sleep belongs to a loop only if the thread waits for nothing else. */
static bool idle_chains_is_further_out(const struct chain *chain, const struct chain *than)
{
	const struct idle_chains_place *a = &chain->place, *b = &than->place;

	return a->sleeps == b->sleeps ? compare(a, b) < 0 : b->sleeps;
}

/* The highest visit count among the places further out. */
static uint32_t outer_visits(const struct idle_chains *chains, const struct chain *chain)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < chains->cnt; i++)
		if (idle_chains_is_further_out(&chains->chains[i], chain) &&
		    chains->chains[i].visit_cnt > cnt)
			cnt = chains->chains[i].visit_cnt;
	return cnt;
}

/*
 * True for the idle place: the same call at the same depth, with or without a timeout. But Ruby's
 * sleep is the same system call as the wait at a queue, from the same depth.
 */
static bool is_known(const struct idle_chains *chains, const struct chain *chain)
{
	const struct idle_chains_place *idle = &chains->idle, *place = &chain->place;

	if (!chains->has_idle || compare(idle, place))
		return false;
	if (place->one_call && idle->script == place->script)
		return true;
	return idle->nr == place->nr && idle->pauses == place->pauses;
}

/*
 * The chain with the oldest visit is dropped, but not the idle place: the probes know it, so its
 * visits no longer come here.
 */
static struct chain *new_chain(struct idle_chains *chains)
{
	struct chain *oldest = NULL;

	if (chains->cnt < IDLE_CHAIN_MAX)
		return &chains->chains[chains->cnt++];
	for (uint32_t i = 0; i < IDLE_CHAIN_MAX; i++) {
		struct chain *chain = &chains->chains[i];

		if (!is_known(chains, chain) && (!oldest || chain->last_ns < oldest->last_ns))
			oldest = chain;
	}
	return oldest ? oldest : &chains->chains[0];
}

static struct chain *chain_of(struct idle_chains *chains, const struct idle_visit *visit)
{
	struct chain *chain;

	for (uint32_t i = 0; i < chains->cnt; i++)
		if (is_same(&chains->chains[i], visit))
			return &chains->chains[i];
	chain = new_chain(chains);
	*chain = (struct chain){
		.place = place_of(visit),
		.first_ns = visit->now_ns,
	};
	chain->cnt = visit->cnt < FRAME_MAX ? visit->cnt : FRAME_MAX;
	memcpy(chain->addresses, visit->addresses, chain->cnt * sizeof(*chain->addresses));
	return chain;
}

/*
 * True for another call at the idle place's depth: it happens when work has arrived. Interpreters
 * make all calls at one depth.
 */
static bool is_beside(const struct idle_chains *chains, const struct chain *chain)
{
	return chains->has_idle && !compare(&chains->idle, &chain->place) &&
	       chains->idle.sleeps == chain->place.sleeps && !is_known(chains, chain);
}

/* A sleep belongs to a loop, such as a frame loop, if it occurs this often per second. */
#define SLEEPS_PER_S 5
/* So many show it beside another idle place: some jobs in a row sleep in their handlers, too. */
#define PAUSES 16
/* A thread that only sleeps for so long has left its idle place, and rests. */
#define REST_NS (2 * NS_PER_SEC)

static bool is_seldom(const struct chain *chain, const struct idle_visit *visit)
{
	uint64_t ns = visit->now_ns - chain->first_ns;

	return visit->sleeps && (chain->wait_cnt - 1) * NS_PER_SEC < ns * SLEEPS_PER_S;
}

/* Sleeps again and again, without a wait for work between. */
static bool only_sleeps(const struct chain *chain, const struct idle_visit *visit)
{
	return chain->dispatch_ns && chain->dispatch_cnt > 1 &&
	       visit->now_ns > chain->dispatch_ns + REST_NS;
}

static bool rests(const struct idle_chains *chains, const struct idle_visit *visit)
{
	uint64_t ns = visit->now_ns - chains->since_ns;

	return ns >= LOOK_NS && visit->cpu_ns - chains->since_cpu_ns < ns / 2;
}

/*
 * Sums the visits of all places at this depth: loops have several waits, with and without a
 * timeout.
 */
static uint32_t visits_at(const struct idle_chains *chains, const struct idle_chains_place *place)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < chains->cnt; i++)
		cnt += compare(&chains->chains[i].place, place) ? 0 : chains->chains[i].visit_cnt;
	return cnt;
}

static struct chain *count_visit(struct idle_chains *chains, const struct idle_visit *visit)
{
	struct chain *chain = chain_of(chains, visit);

	chain->visit_cnt++;
	chain->wait_cnt +=
		chain->in_row && visit->in_row > chain->in_row ? visit->in_row - chain->in_row : 1;
	chain->in_row = visit->in_row;
	chain->dispatch_cnt =
		chain->dispatch_ns == visit->dispatch_ns ? chain->dispatch_cnt + 1 : 1;
	chain->dispatch_ns = visit->dispatch_ns;
	chain->last_ns = visit->now_ns;
	return chain;
}

enum idle_verdict idle_chains__visit(struct idle_chains *chains, const struct idle_visit *visit)
{
	struct chain *chain = count_visit(chains, visit);
	uint32_t outer_cnt;
	bool takes_over;

	if (!chains->since_ns) {
		chains->since_ns = visit->now_ns;
		chains->since_cpu_ns = visit->cpu_ns;
	}
	outer_cnt = outer_visits(chains, chain);
	if (outer_cnt >= VISITS || is_beside(chains, chain))
		return IDLE_NO;
	if (outer_cnt * SELDOM > visits_at(chains, &chain->place))
		return IDLE_UNKNOWN;
	if (is_known(chains, chain) && !chain->place.sleeps)
		return IDLE_YES;
	if (chain->visit_cnt < VISITS || is_seldom(chain, visit) || !rests(chains, visit))
		return IDLE_UNKNOWN;
	if (chain->place.sleeps && chains->has_locks)
		return IDLE_UNKNOWN;
	takes_over = chains->has_idle && !is_known(chains, chain);
	chains->idle = chain->place;
	chains->has_idle = true;
	return takes_over ? IDLE_OUTER : IDLE_YES;
}

enum idle_verdict idle_chains__pause(struct idle_chains *chains, const struct idle_visit *visit)
{
	const struct idle_chains_place place = place_of(visit);
	const struct chain *chain;

	if (!chains->has_idle)
		return IDLE_UNKNOWN;
	if (compare(&place, &chains->idle) > 0)
		return IDLE_NO;
	chain = count_visit(chains, visit);
	if (only_sleeps(chain, visit))
		return IDLE_LEFT;
	return chain->visit_cnt < PAUSES || is_seldom(chain, visit) ? IDLE_UNKNOWN : IDLE_YES;
}

void idle_chains__lock(struct idle_chains *chains)
{
	chains->has_locks = true;
}

bool idle_chains__is_idle(const struct idle_chains *chains, const struct idle_visit *visit)
{
	if (chains->idle.script)
		return false;
	for (uint32_t i = 0; i < chains->cnt; i++)
		if (is_same(&chains->chains[i], visit))
			return !visit->sleeps && visit->nr == chains->chains[i].place.nr &&
			       is_known(chains, &chains->chains[i]);
	return false;
}
