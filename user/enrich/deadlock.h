/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deadlocks: threads that wait for each other's locks, a thread that waits for its own, a lock
 * whose holder has ended. Sink thread.
 */
#ifndef JANK_ENRICH_DEADLOCK_H
#define JANK_ENRICH_DEADLOCK_H

#include "model/block.h"
#include "symbol/names/symbolize.h"

/*
 * Looks at the lock for which a hanging dispatch waits, at its owner, at the lock for which that
 * one waits, and so on. If that never ends, sets block->deadlock, and the chain from these facts. A
 * later record of the same dispatch gets the same chain, if its wait did not end before the thread.
 * symbolizer: names locks that are variables; NULL: none are named. 0 or -ENOMEM.
 */
int deadlock__find(struct symbolizer *symbolizer, struct block *block);

#endif
