/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings take longer with many CPUs or processes; then they are made less often: at most one part
 * in so many of our CPU time.
 */
#include "base/clock.h"
#include "enrich/block_facts.h"
#include "model/display_frames.h"
#include "session/session_parts.h"

#define FRESH_NS    (5 * NS_PER_MS) /* reuse a reading of this age */
#define TIMER_SHARE 500
#define BLOCK_SHARE 100

void machine_readings__read(struct machine_readings *readings, uint64_t now_ns)
{
	uint64_t cpu_ns = clock__thread_ns();

	if (now_ns - readings->read_ns < FRESH_NS ||
	    now_ns - readings->read_ns < readings->cost_ns * BLOCK_SHARE)
		return;
	readings->read_ns = now_ns;
	machine__read(readings->machine, now_ns);
	readings->cost_ns = clock__thread_ns() - cpu_ns;
}

void machine_readings__due(struct machine_readings *readings)
{
	uint64_t now_ns = clock__mono_ns();

	if (now_ns - readings->read_ns >= readings->cost_ns * TIMER_SHARE)
		machine_readings__read(readings, now_ns);
}

void machine_readings__load(struct machine_readings *readings, const struct jank_rec_block *rec,
			    struct machine_load *ret, struct host_info *host)
{
	machine_readings__read(readings, clock__mono_ns());
	machine__load(readings->machine, rec->hdr.tgid, rec->start_ns - dispatch__start_delay(rec),
		      rec->start_ns + rec->duration_ns, ret);
	machine__memory(&host->mem_total_kb, &host->mem_free_kb, &host->mem_available_kb);
}

/* The display's history must reach back to the block. */
static void set_frames(const struct loader *loader, struct block *block)
{
	struct jank_vblanks vblanks;

	for (uint32_t crtc = 0; loader__vblanks(loader, crtc, &vblanks); crtc++)
		if (vblanks.cnt)
			display_frames__add(&block->frames, crtc, &vblanks, block__due(block),
					    block->start_ns + block->duration_ns);
}

static void set_throttled(const struct machine *machine, struct block *block)
{
	uint32_t cpu;

	if (block_facts__cpu(block, &cpu))
		block->facts.live.has_thermal_throttled = block->facts.live.thermal_throttled =
			machine__throttled(machine, cpu, block->start_ns,
					   block->start_ns + block->duration_ns);
}

void machine_readings__fill(const struct machine_readings *readings, const struct loader *loader,
			    struct block *block)
{
	set_frames(loader, block);
	set_throttled(readings->machine, block);
}
