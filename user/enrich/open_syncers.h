/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that sync files of the device for whose journal a hang waits, while their calls last: the
 * records of the probes have a call only when it is over. Sink thread.
 */
#ifndef JANK_ENRICH_OPEN_SYNCERS_H
#define JANK_ENRICH_OPEN_SYNCERS_H

#include "model/block.h"

/*
 * If the hang waits in fsync or the like, puts these threads into block->syncers, before those that
 * are there. Two looks, 5 ms apart, must find each in such a call. Takes at most 60 ms, and nothing
 * for another wait. 0 or -ENOMEM.
 */
int open_syncers__find(struct block *block);

#endif
