/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What else the living machine tells of a block: how fast its CPU is, in which cgroups they are
 * that ran instead. On the sink thread: the reader of the ring waits for no file.
 */
#ifndef JANK_ENRICH_BLOCK_FACTS_H
#define JANK_ENRICH_BLOCK_FACTS_H

#include "model/block.h"

/* Fills the block's facts and its preemptors, those of the chain, too. 0 or -ENOMEM. */
int block_facts__fill(struct block *block);

/*
 * The part that chooses, for tests: the CPU that most ticks of the sampler were taken on. False:
 * there was none.
 */
bool block_facts__cpu(const struct block *block, uint32_t *ret);

#endif
