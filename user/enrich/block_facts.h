/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of a block that only the live machine has: the speed of its CPU, the cgroups of the tasks
 * that preempted it. Runs on the sink thread, so that the reader of the ring never waits for a
 * file.
 */
#ifndef JANK_ENRICH_BLOCK_FACTS_H
#define JANK_ENRICH_BLOCK_FACTS_H

#include "model/block.h"

/* Fills the facts and preemptors of the block and of its chain. Returns 0 or -ENOMEM. */
int block_facts__fill(struct block *block);

/*
 * Returns the CPU on which the sampler took most ticks; false if there were no ticks. Exported for
 * tests.
 */
bool block_facts__cpu(const struct block *block, uint32_t *ret);

#endif
