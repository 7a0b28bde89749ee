/* SPDX-License-Identifier: GPL-2.0 */
/* What a block waited for and for whom, found out on the living machine. */
#ifndef JANK_ENRICH_BLOCK_WAITS_H
#define JANK_ENRICH_BLOCK_WAITS_H

#include "model/block.h"

/* Fills the waits of its spans and of its chain's links, and the links' processes. ctx unused. 0 or -ENOMEM. */
int block_waits__name(void *ctx, struct block *block);

#endif
