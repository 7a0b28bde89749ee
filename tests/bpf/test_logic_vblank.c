/* SPDX-License-Identifier: GPL-2.0 */
/* The refreshes of displays that the probes store, and what user space computes from them. */
#include "base/clock.h"
#include "model/loop.h"
#include "tests/bpf/logic_run.h"

#define MS NS_PER_MS

static void show(int crtc, uint32_t seq, uint64_t t_ns)
{
	struct logic_step step = { .fd = crtc, .arg = seq, .now_ns = t_ns };

	logic__call(logic.skel->progs.logic_vblank, &step, sizeof(step));
}

static struct jank_vblanks of(uint32_t crtc)
{
	struct jank_vblanks ret;

	if (bpf_map_lookup_elem(bpf_map__fd(logic.skel->maps.jank_vblanks), &crtc, &ret))
		ok(false, "display %u: %s", crtc, strerror(errno));
	return ret;
}

static uint32_t missed(uint32_t crtc, uint64_t start_ms, uint64_t end_ms)
{
	Jankbpf__Display frames = { .missed = 0 };
	struct jank_vblanks vblanks = of(crtc);

	display_frames__add(&frames, crtc, &vblanks, start_ms * MS, end_ms * MS);
	return frames.missed;
}

int main(void)
{
	LOGIC_START("logic_wait", "logic_vblank");
	logic__begin();
	is_uint(of(0).cnt, 0, "none at first");
	for (uint32_t i = 1; i <= 3; i++)
		show(0, 100 + i, i * 10 * MS);
	show(JANK_CRTC_MAX - 1, 7, 5 * MS);
	show(JANK_CRTC_MAX, 7, 5 * MS);
	show(-1, 7, 5 * MS);
	is_uint(of(0).cnt, 3, "each is counted");
	ok(of(0).near[1].t_ns == 20 * MS && of(0).near[1].seq == 102, "with its time and number");
	is_uint(of(JANK_CRTC_MAX - 1).cnt, 1, "the last display, too");
	for (uint32_t i = 1; i < JANK_CRTC_MAX - 1; i++)
		is_uint(of(i).cnt, 0, "but not another display's");
	is_uint(missed(0, 10, 30), 2, "a dispatch of 20 ms");

	logic__begin();
	for (uint32_t i = 1; i <= 10000; i++)
		show(1, i, i * 10ull * MS);
	is_uint(of(1).cnt, 10000, "a long time");
	is_uint(missed(1, 99000, 100000), 100, "its end");
	is_uint(missed(1, 40000, 100000), 6000, "long before");
	is_uint(missed(1, 30000, 31000), 100, "between two stored ones");
	return logic__done();
}
