/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges the sparse early refreshes and the last ones into one list, and sums the frames in its
 * gaps.
 */
#include "model/loop.h"

#include <stdlib.h>

#include "base/clock.h"

#define POINT_MAX (JANK_VBLANK_NEAR + JANK_VBLANK_FAR)
#define MORE	  1.5 /* tolerance: frames in a gap beyond its length */

struct points {
	struct jank_vblank at[POINT_MAX];
	size_t cnt;
	uint64_t period_ns; /* 0: not known */
};

/* Keeps time order: skips an entry that was overwritten while it was read. */
static void add(struct points *points, const struct jank_vblank *vblank)
{
	if (!points->cnt || vblank->t_ns > points->at[points->cnt - 1].t_ns)
		points->at[points->cnt++] = *vblank;
}

static void collect(struct points *points, const struct jank_vblanks *vblanks)
{
	uint32_t cnt = vblanks->cnt;
	/* The probe may be writing the oldest entry. */
	uint32_t near = cnt < JANK_VBLANK_NEAR ? 0 : cnt - (JANK_VBLANK_NEAR - 1);
	uint32_t far_cnt = (cnt + JANK_VBLANK_STEP - 1) / JANK_VBLANK_STEP;
	uint32_t far = far_cnt < JANK_VBLANK_FAR ? 0 : far_cnt - (JANK_VBLANK_FAR - 1);

	points->cnt = 0;
	for (; far < far_cnt && far * JANK_VBLANK_STEP < near; far++)
		add(points, &vblanks->far[far % JANK_VBLANK_FAR]);
	for (; near < cnt; near++)
		add(points, &vblanks->near[near % JANK_VBLANK_NEAR]);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The median time between two consecutive frames. */
static uint64_t period_of(const struct points *points)
{
	uint64_t ns[POINT_MAX];
	size_t cnt = 0;

	for (size_t i = 1; i < points->cnt; i++)
		if (points->at[i].seq - points->at[i - 1].seq == 1)
			ns[cnt++] = points->at[i].t_ns - points->at[i - 1].t_ns;
	if (!cnt)
		return 0;
	qsort(ns, cnt, sizeof(*ns), compare);
	return ns[cnt / 2];
}

/*
 * Number of frames after the first point and up to t_ns, if the `cnt` frames up to the second point
 * are evenly spaced.
 */
static uint32_t frames_until(const struct jank_vblank *from, const struct jank_vblank *to,
			     uint32_t cnt, uint64_t t_ns)
{
	if (t_ns >= to->t_ns)
		return cnt;
	if (t_ns <= from->t_ns)
		return 0;
	return (uint32_t)((double)(t_ns - from->t_ns) * cnt / (double)(to->t_ns - from->t_ns));
}

/*
 * A sequence number that grows faster than time belongs to another display (of another device), or
 * was reset.
 */
static uint32_t frames_between(const struct points *points, const struct jank_vblank *from,
			       const struct jank_vblank *to)
{
	uint32_t cnt = to->seq - from->seq;

	if (!cnt || !points->period_ns)
		return 1;
	return cnt <= (double)(to->t_ns - from->t_ns) / (double)points->period_ns + MORE ? cnt : 1;
}

static uint32_t count(const struct points *points, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t ret = points->cnt && points->at[0].t_ns > start_ns && points->at[0].t_ns <= end_ns;

	for (size_t i = 1; i < points->cnt; i++) {
		const struct jank_vblank *from = &points->at[i - 1], *to = &points->at[i];
		uint32_t cnt = frames_between(points, from, to);

		ret += frames_until(from, to, cnt, end_ns) - frames_until(from, to, cnt, start_ns);
	}
	return ret;
}

void display_frames__add(Jankbpf__Display *ret, uint32_t crtc, const struct jank_vblanks *vblanks,
			 uint64_t start_ns, uint64_t end_ns)
{
	struct points points;
	uint32_t missed;

	collect(&points, vblanks);
	points.period_ns = period_of(&points);
	missed = count(&points, start_ns, end_ns);
	if (missed <= ret->missed)
		return;
	ret->has_missed = ret->has_crtc = true;
	ret->missed = missed;
	ret->crtc = crtc;
	ret->has_refresh_hz = points.period_ns > 0;
	if (ret->has_refresh_hz)
		ret->refresh_hz = (double)NS_PER_SEC / (double)points.period_ns;
}
