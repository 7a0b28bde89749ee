/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links for a hang: the thread or process that it waits for, what that one does now, and whom it
 * waits for in turn. The records of the probes tell so only when the wait is over. Sink thread.
 */
#ifndef JANK_ENRICH_PARTNER_H
#define JANK_ENRICH_PARTNER_H

#include "model/block.h"

/*
 * Continues the chain of a hang, where the records do not tell what its last link does, and sets
 * block->seen_chain; without a chain, begins one for the open wait. Where several processes may end
 * the last wait, sets block->enders. Takes 5 ms a link. 0 or -ENOMEM.
 */
int partner__find(struct block *block);

#endif
