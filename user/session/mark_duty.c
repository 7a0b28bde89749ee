/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/mark_duty.h"

#include "base/clock.h"

#define BUSY_HZ 2000 /* dispatches a second: 2,000 traps of 3 us are 0.6 % of a CPU */
#define CALM_HZ 500
#define ON_NS	(5 * NS_PER_SEC)
#define REST_NS (9 * ON_NS)

static bool may_rest(const struct mark_duty *duty, uint64_t now_ns)
{
	return duty->rate >= BUSY_HZ && (!duty->on_ns || now_ns - duty->on_ns >= ON_NS);
}

static bool may_work(const struct mark_duty *duty, uint64_t now_ns)
{
	return duty->rate < CALM_HZ || (duty->slow && now_ns - duty->off_ns >= REST_NS);
}

bool mark_duty__look(struct mark_duty *duty, uint64_t now_ns, uint64_t dispatch_cnt)
{
	uint64_t elapsed_ns = now_ns - duty->looked_ns, cnt = dispatch_cnt - duty->dispatch_cnt;

	if (duty->looked_ns && elapsed_ns < NS_PER_SEC)
		return !duty->off;
	if (dispatch_cnt < duty->dispatch_cnt) /* threads ended, and their counts with them */
		cnt = 0;
	duty->rate = duty->looked_ns ? cnt * NS_PER_SEC / elapsed_ns : 0;
	duty->looked_ns = now_ns;
	duty->dispatch_cnt = dispatch_cnt;
	if (!duty->off && may_rest(duty, now_ns)) {
		duty->off = true;
		duty->slow = false;
		duty->off_ns = now_ns;
	} else if (duty->off && may_work(duty, now_ns)) {
		duty->off = false;
		duty->on_ns = duty->rate < CALM_HZ ? 0 : now_ns;
	}
	return !duty->off;
}

void mark_duty__slow(struct mark_duty *duty)
{
	duty->slow = true;
}
