/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts of the reported blocks by process and kind of loop, for the summary and for intervals.
 * Used on the sink thread, and by a replay.
 */
#ifndef JANK_SESSION_REPORTED_H
#define JANK_SESSION_REPORTED_H

#include "base/groups.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

/* Number of reported blocks of a process, for one kind of loop. */
struct reported_loop {
	struct group_node node;
	struct reported_key {
		uint32_t pid, loop;
	} key;
	uint64_t cnt;
	uint64_t told_cnt; /* of them, in intervals */
	bool ended;	   /* its process has */
};

/* Time of the reported blocks, see struct stalled. */
struct reported_time {
	uint64_t ns, cpu_wait_ns, throttled_ns;
	double used_ns, use_known_ns; /* CPU use times cpu_wait_ns, and where that use is known */
	char *cgroup;		      /* that had the quota; NULL: none is known */
	bool has_several;	      /* such cgroups */
};

struct reported {
	struct reported_time time;
	struct groups loops;		      /* struct reported_loop */
	struct reported_loop others;	      /* of further loops: pid 0 */
	_Atomic uint64_t block_cnt, hang_cnt; /* the intake thread reads them, too */
	uint64_t incomplete_cnt;	      /* those with losses of their own */
	uint64_t told_hang_cnt;		      /* of them, in intervals */
};

void reported__init(struct reported *reported);
void reported__free(struct reported *reported); /* frees what it points to */

/* Counts a block or hang. 0 or -ENOMEM: its loop is among the others, or its cgroup not known. */
int reported__add(struct reported *reported, const struct block *block);

/* The process ended: after the next interval its blocks count for the others. */
void reported__end(struct reported *reported, uint32_t pid);

/*
 * Sets the counts of blocks and hangs, those of its loops, and the time of the blocks, which
 * borrows from `reported`.
 */
void reported__set_summary(const struct reported *reported, struct summary *summary);

/* Sets the counts of hangs and loops to what is new since the last interval. 0 or -ENOMEM. */
int reported__set_interval(struct reported *reported, struct interval *interval);

#endif
