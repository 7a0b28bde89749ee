/* SPDX-License-Identifier: GPL-2.0 */
/* Counts of reported blocks: those of ended processes do not take the room of others. */
#include "session/reported.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

#define PIDS 10000

static struct block *stalled_block(uint64_t runnable_ns, uint64_t throttled_ns, double busy_pct,
				   const char *cgroup)
{
	struct block *block = block__new();

	block->duration_ns = 100;
	block->state_ns[JANK_STATE_RUNNABLE] = runnable_ns;
	block->facts.throttled_ns = throttled_ns;
	block->live->scheduling->quota_cgroup = cgroup ? strdup(cgroup) : NULL;
	block->live->cpu->has_total_pct = busy_pct >= 0;
	block->live->cpu->total_pct = busy_pct;
	return block;
}

static void add(struct reported *reported, struct block *block)
{
	reported__add(reported, block);
	block__free(block);
}

static void test_time(void)
{
	struct reported reported;
	struct summary summary = {};
	struct block *block;

	reported__init(&reported);
	add(&reported, stalled_block(90, 80, 50, "/a"));
	add(&reported, stalled_block(10, 0, 100, NULL));
	reported__set_summary(&reported, &summary);
	is_uint(summary.stalled.ns, 200, "the time of all blocks");
	is_uint(summary.stalled.cpu_wait_ns, 100, "want of a CPU in it");
	is_uint(summary.stalled.throttled_ns, 80, "by a quota");
	is_str(summary.stalled.cgroup, "/a", "of this cgroup");
	ok(summary.stalled.busy_pct > 54.9 && summary.stalled.busy_pct < 55.1,
	   "the CPUs' use is that of the waits");

	block = stalled_block(0, 0, -1, "/b");
	block->chain = calloc(1, sizeof(*block->chain));
	block->chain_cnt = 1;
	block->chain[0].state = JANK_STATE_RUNNABLE;
	block->chain[0].part_ns[JANK_STATE_RUNNABLE] = 60;
	block->chain[0].throttled_ns = 50;
	add(&reported, block);
	reported__set_summary(&reported, &summary);
	is_uint(summary.stalled.cpu_wait_ns, 160, "also of a thread that another one waited for");
	is_uint(summary.stalled.throttled_ns, 130, "by a quota");
	ok(!summary.stalled.cgroup, "which several cgroups had");
	reported__free(&reported);
}

int main(void)
{
	struct reported reported;
	bool own = true, told = true;

	reported__init(&reported);
	for (uint32_t pid = 1; pid <= PIDS; pid++) {
		struct block *block = block__new();
		struct interval interval = {};

		block->pid = pid;
		block->loop = 1;
		reported__add(&reported, block);
		block__free(block);
		reported__end(&reported, pid);
		reported__set_interval(&reported, &interval);
		own &= interval.loop_cnt == 1 && interval.loops[0].pid == pid &&
		       interval.loops[0].block_cnt == 1;
		free(interval.loops);
		interval = (struct interval){};
		reported__set_interval(&reported, &interval);
		told &= !interval.loop_cnt;
		free(interval.loops);
	}
	ok(own, "each of many short processes has a row of its own");
	ok(told, "in one interval only");
	is_uint(groups__cnt(&reported.loops), 0, "nothing is kept of them");
	is_uint(reported.others.cnt, PIDS, "but their number");
	reported__free(&reported);
	test_time();
	return tap__done();
}
