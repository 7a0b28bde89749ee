/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The next step of a loop: scenarios of the list in order or at random, with short dispatches in
 * between.
 */
#include "simjank_loop.h"

#include <errno.h>
#include <unistd.h>

#include "simjank_handler.h"

#define WARM_NS	       (10 * NS_PER_MS)
#define WARM_PERIOD_NS NS_PER_MS

/* A linear congruential generator: only its upper half is random enough. */
static uint64_t random__below(uint64_t *random, uint64_t below)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (*random >> 32) % below : 0;
}

static uint64_t loop__length_ns(struct loop *loop, const struct range *range)
{
	uint64_t span_us = (range->max_ns - range->min_ns) / NS_PER_US;

	return range->min_ns + random__below(&loop->random, span_us + 1) * NS_PER_US;
}

static unsigned loop__form(const struct loop *loop, uint64_t *random)
{
	const struct options *opt = loop->opt;

	return opt->form_cnt ? opt->forms[random__below(random, opt->form_cnt)] : 0;
}

static void loop__plan_short(struct loop *loop, uint64_t period_ns)
{
	loop->plan.form = loop__form(loop, &loop->short_random);
	loop->plan.scenario = &scenarios[SCENARIO_short];
	loop->plan.length_ns = 0;
	loop->plan.delay_ns = period_ns;
}

static void loop__plan_picked(struct loop *loop, uint64_t now_ns)
{
	const struct options *opt = loop->opt;
	const struct pick *pick;
	size_t at = opt->random ? random__below(&loop->random, opt->pick_cnt)
				: loop->order_at++ % opt->pick_cnt;

	pick = &opt->picks[at];
	loop->plan.scenario = pick->scenario;
	loop->plan.length_ns = loop__length_ns(loop, &pick->length);
	loop->plan.form = loop__form(loop, &loop->random);
	loop->plan.delay_ns = loop->next_ns > now_ns ? loop->next_ns - now_ns : 0;
	loop->picked_cnt++;
	loop->next_ns = 0; /* set when it was handled */
}

static void loop__plan(struct loop *loop)
{
	uint64_t now_ns = clock__mono_ns();
	uint64_t period_ns = loop->opt->short_period_ns;

	if (!loop->started) {
		loop->started = true;
		loop->warm_end_ns = now_ns + WARM_NS;
		loop->next_ns = loop->warm_end_ns;
	}
	if (!loop->next_ns)
		loop->next_ns = now_ns + loop->opt->gap_ns;
	if (now_ns < loop->warm_end_ns && (!period_ns || period_ns > WARM_PERIOD_NS))
		period_ns = WARM_PERIOD_NS;
	if (period_ns && now_ns + period_ns < loop->next_ns)
		loop__plan_short(loop, period_ns);
	else
		loop__plan_picked(loop, now_ns);
}

static bool loop__is_through(const struct loop *loop)
{
	return loop->opt->count && loop->next_ns == 0 && loop->picked_cnt >= loop->opt->count;
}

void loop__handle(struct loop *loop)
{
	const struct plan *plan = &loop->plan;
	struct record *record = &loop->truth.records[loop->truth.cnt];
	bool idle;

	if (!plan->scenario)
		return;
	idle = plan->scenario == &scenarios[SCENARIO_idle];
	record->scenario = (uint16_t)(plan->scenario - scenarios);
	record->wanted_ns = idle ? 0 : plan->length_ns;
	record->form = (uint16_t)plan->form;
	bound__end(&loop->stage);
	plan->scenario->handle(&loop->stage, record->begin_ns + plan->length_ns);
	record->late_tid = loop->stage.cast.late_tid;
}

void loop__next(struct loop *loop, bool due)
{
	int order = __atomic_load_n(&loop->order, __ATOMIC_ACQUIRE);

	if (loop->done || order == ORDER_WAIT || (order == ORDER_START && loop->started && !due))
		return;
	loop->finishing = order == ORDER_STOP || (due && loop__is_through(loop));
	if (loop->finishing)
		loop->plan.scenario = NULL;
	else
		loop__plan(loop);
	front_end.arm(loop);
}

void loop__tell_done(struct loop *loop)
{
	uint64_t one = 1;

	loop->finishing = false;
	loop->done = true;
	while (write(loop->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}
