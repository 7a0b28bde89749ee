/* SPDX-License-Identifier: GPL-2.0 */
/* Frames of a display in an interval, from known refreshes. */
#include "model/loop.h"

#include "base/clock.h"
#include "tests/tap.h"

#define MS NS_PER_MS

/* In the layout of the probe (bpf/vblank.bpf.h). */
static void show(struct jank_vblanks *all, uint64_t t_ns, uint32_t seq)
{
	const struct jank_vblank now = { t_ns, seq, 0 };

	all->near[all->cnt % JANK_VBLANK_NEAR] = now;
	if (!(all->cnt % JANK_VBLANK_STEP))
		all->far[all->cnt / JANK_VBLANK_STEP % JANK_VBLANK_FAR] = now;
	all->cnt++;
}

/* cnt refreshes, from t_ns on. */
static struct jank_vblanks steady(uint64_t t_ns, uint64_t period_ns, uint32_t seq, uint32_t cnt)
{
	struct jank_vblanks ret = { 0 };

	for (uint32_t i = 0; i < cnt; i++)
		show(&ret, t_ns + i * period_ns, seq + i);
	return ret;
}

static Jankbpf__Display in(const struct jank_vblanks *all, uint64_t start_ns, uint64_t end_ns)
{
	Jankbpf__Display ret = JANKBPF__DISPLAY__INIT;

	display_frames__add(&ret, 2, all, start_ns, end_ns);
	return ret;
}

static void test_steady(void)
{
	struct jank_vblanks all = steady(1000 * MS, 16666667, 500, 60);
	Jankbpf__Display got = in(&all, 1105 * MS, 1265 * MS);

	is_uint(got.missed, 9, "160 ms at 60 Hz");
	is_uint(got.crtc, 2, "with this display's rate");
	ok(got.refresh_hz > 59.9 && got.refresh_hz < 60.1, "%.3f Hz", got.refresh_hz);
	is_uint(in(&all, 1000 * MS, 1001 * MS).missed, 0, "a refresh at the begin does not count");
	is_uint(in(&all, 999 * MS, 1000 * MS).missed, 1, "a refresh at the end does");
	is_uint(in(&all, 1001 * MS, 1016 * MS).missed, 0, "between two");
	is_uint(in(&all, 0, 5000 * MS).missed, 60, "all");
	is_uint(in(&all, 3000 * MS, 5000 * MS).missed, 0, "after the last one: unknown");
	is_uint(in(&all, 0, 900 * MS).missed, 0, "before the first one: unknown");
	all = steady(1000 * MS, 10 * MS, UINT32_MAX - 10, 60);
	is_uint(in(&all, 1000 * MS, 1200 * MS).missed, 20, "a counter that wraps to 0");
}

static void test_none(void)
{
	struct jank_vblanks all = { 0 };

	is_uint(in(&all, 0, UINT64_MAX).missed, 0, "no refresh");
	show(&all, 50 * MS, 1);
	is_uint(in(&all, 0, 100 * MS).missed, 1, "only one");
	ok(!in(&all, 0, 100 * MS).refresh_hz, "which gives no rate");
}

static void test_long(void)
{
	struct jank_vblanks all = steady(10 * MS, 10 * MS, 1, 20000);

	is_uint(in(&all, 199000 * MS, 200000 * MS).missed, 100, "a second of 200");
	is_uint(in(&all, 195000 * MS, 200000 * MS).missed, 500,
		"a hang, longer than the recent ones");
	is_uint(in(&all, 140000 * MS, 200000 * MS).missed, 6000, "a minute");
	is_uint(in(&all, 0, 200000 * MS).missed,
		20000 - (20000 / JANK_VBLANK_STEP - JANK_VBLANK_FAR + 2) * JANK_VBLANK_STEP,
		"as far as the history goes");
}

/*
 * Between 1,090 and 2,000 ms the interrupt was off, because nobody asked for frames; the display
 * was on.
 */
static void test_gap(void)
{
	struct jank_vblanks all = steady(1000 * MS, 10 * MS, 1, 10);

	show(&all, 2000 * MS, 101);
	show(&all, 2010 * MS, 102);
	is_uint(in(&all, 1500 * MS, 1600 * MS).missed, 10, "within a gap");
	is_uint(in(&all, 1000 * MS, 2010 * MS).missed, 101, "over it");
	show(&all, 2020 * MS, 5000);
	is_uint(in(&all, 2010 * MS, 2020 * MS).missed, 1, "an impossible number is one frame");
	show(&all, 2030 * MS, 3);
	is_uint(in(&all, 2010 * MS, 2030 * MS).missed, 2, "so is a lower one");
	show(&all, 2040 * MS, 3);
	is_uint(in(&all, 2010 * MS, 2040 * MS).missed, 3, "and the same one again");
	show(&all, 1, 4);
	is_uint(in(&all, 2010 * MS, 2040 * MS).missed, 3, "a refresh out of order is ignored");
}

static void test_displays(void)
{
	struct jank_vblanks slow = steady(1000 * MS, 20 * MS, 1, 50);
	struct jank_vblanks fast = steady(1000 * MS, 7 * MS, 1, 140);
	Jankbpf__Display got = JANKBPF__DISPLAY__INIT;

	display_frames__add(&got, 0, &slow, 1000 * MS, 1140 * MS);
	is_uint(got.missed, 7, "of one display");
	display_frames__add(&got, 1, &fast, 1000 * MS, 1140 * MS);
	display_frames__add(&got, 2, &slow, 1000 * MS, 1140 * MS);
	ok(got.missed == 20 && got.crtc == 1,
	   "of several displays the one with most frames: %u of %u", got.missed, got.crtc);
}

int main(void)
{
	test_steady();
	test_none();
	test_long();
	test_gap();
	test_displays();
	return tap__done();
}
