/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a thread that could run did not. */
#ifndef JANK_VERDICT_RUNNABLE_H
#define JANK_VERDICT_RUNNABLE_H

#include "model/block.h"

struct runnable_share {
	const char *what; /* of sentence.h's list; NULL: not known */
	double ns;
};
#define RUNNABLE_SHARE_MAX 5

/* Divides the block's runnable time. Returns how many shares there are, which sum to it. */
size_t runnable__divide(const struct block *block, struct runnable_share *ret);

/*
 * The preemptors, one for each process, worst first: what its threads had, with the name of the one
 * that had most of it. cgroup is borrowed. NULL: out of memory; else the caller's to free.
 */
struct other_task *runnable__by_process(const struct block *block, size_t *ret_cnt);

/* Those of one name that ran instead. */
struct runners {
	const struct other_task *task; /* the one that had the most time; NULL: none is known */
	uint64_t ns;		       /* that all of the name had */
	size_t cnt;		       /* processes */
	size_t other_cnt;	       /* tasks of other names */
};

/* Those that had the most time together; only those of better priority when asked so. */
struct runners runnable__worst(const struct block *block, bool better);

#endif
