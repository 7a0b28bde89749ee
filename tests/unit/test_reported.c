/* SPDX-License-Identifier: GPL-2.0 */
/* Counts of reported blocks: those of ended processes do not take the room of others. */
#include "session/reported.h"

#include <stdlib.h>

#include "tests/tap.h"

#define PIDS 10000

int main(void)
{
	struct reported reported = {};
	bool own = true, told = true;

	for (uint32_t pid = 1; pid <= PIDS; pid++) {
		struct block block = { .type = BLOCK_JANK, .pid = pid, .loop = 1 };
		struct interval interval = {};

		reported__add(&reported, &block);
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
	is_uint(HASH_COUNT(reported.loops), 0, "nothing is kept of them");
	is_uint(reported.others.cnt, PIDS, "but their number");
	reported__free(&reported);
	return tap__done();
}
