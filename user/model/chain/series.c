/* SPDX-License-Identifier: GPL-2.0 */
/* By what a slice waited for, and by its end: nobody woke it, its time was up, and the next one began at once. */
#include "model/chain/series.h"

#include "model/chain/what.h"

#define GAP_NS	   1000000 /* at most between two slices: it looked whether it may go on */
#define CONDVAR_SZ 48	   /* glibc's: its waits take turns on two words of it */

static bool is_same_futex(const struct waited *a, const struct waited *b)
{
	uint64_t x, y;

	if (!a || !b || !(a->raw.hdr.flags & b->raw.hdr.flags & JANK_WAITED_ARGS))
		return false;
	x = a->raw.args[0];
	y = b->raw.args[0];
	return x < y ? y - x < CONDVAR_SZ : x - y < CONDVAR_SZ;
}

static bool was_refused(const struct sample *sample)
{
	struct moment moment = moment__of_sample(sample);

	return sample->state == JANK_STATE_FUTEX && !sample->open && !sample->has_waker &&
	       moment__timed_out(&moment);
}

bool series__goes_on(const struct sample *samples, size_t cnt, size_t i)
{
	const struct sample *this = &samples[i], *next = &samples[i + 1];
	uint64_t end = this->t_ns + this->ns;

	return i + 1 < cnt && next->state == JANK_STATE_FUTEX && was_refused(this) &&
	       next->t_ns >= end && next->t_ns - end < GAP_NS &&
	       is_same_futex(this->waited, next->waited);
}

struct wait series__wait(const struct sample *samples, size_t i, uint32_t tgid, uint32_t tid)
{
	struct wait wait = wait__of_sample(&samples[i], tgid, tid);

	for (size_t cnt = i + 1; i > 0 && series__goes_on(samples, cnt, i - 1); i--)
		wait.begin = samples[i - 1].t_ns;
	return wait;
}
