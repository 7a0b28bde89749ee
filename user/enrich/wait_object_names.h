/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread waited for, found out on the living machine: files, devices, peers, a mutex's
 * owner, and whose threads are in the chain. On the sink thread, soon: descriptors are closed and
 * reused.
 */
#ifndef JANK_ENRICH_WAIT_OBJECT_NAMES_H
#define JANK_ENRICH_WAIT_OBJECT_NAMES_H

#include "model/block.h"
#include <stdint.h>

/* Of thread tid of process pid. What can't be found stays unknown. 0 or -ENOMEM. */
int wait_object_names__fill(struct wait_object *waited, uint32_t pid, uint32_t tid);

/* Sets the name of the link's process. 0 or -ENOMEM. */
int wait_object_names__link(struct link *link);

/* What a block waited for and for whom, found out on the living machine. */

/*
 * Fills the waits of its spans and of its chain's links, and the links' processes. ctx unused. 0 or
 * -ENOMEM.
 */
int block_waits__name(void *ctx, struct block *block);

#endif
