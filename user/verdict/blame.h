/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verdict: what took most of the dispatch's time, and which application function is
 * responsible.
 */
#ifndef JANK_VERDICT_BLAME_H
#define JANK_VERDICT_BLAME_H

#include "model/block.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fills block->cause and the part of stack_quality that needs names. Requires named frames. Out of
 * memory, it leaves out the summary or everything.
 */
void blame__block(struct block *block);

/* --- Why a runnable thread did not run. */

struct runnable_share {
	const char *reason; /* a word of the list in sentence.h; NULL: not known */
	double ns;
};
#define RUNNABLE_SHARE_MAX 6

/*
 * Divides the block's runnable time into shares. Returns their number; the sum is the runnable
 * time.
 */
size_t runnable__divide(const struct block *block, struct runnable_share *ret);

/* Who ran instead of a thread. */
enum runner {
	RUNNER_OTHERS, /* processes with threads of one name */
	RUNNER_PEERS,  /* other threads of its own process */
	RUNNER_OURS,   /* jankbpf */
};

struct runners {
	enum runner who;
	const struct other_task *task; /* the one with the most time; NULL: none is known */
	uint64_t ns;		       /* sum over all of them */
	size_t cnt;		       /* number of processes; of RUNNER_PEERS: of threads */
	size_t other_cnt;	       /* further tasks */
};

/*
 * Those of the tasks with the most time. pid: of the thread. than: only tasks of better priority
 * than this (wire format); 0: all.
 */
struct runners runners__of(const struct other_task *tasks, size_t cnt, uint32_t pid, uint16_t than);

/* True if they had enough of a time without a CPU to be named as its reason. */
bool runners__explain(const struct runners *runners, double ns);

#endif
