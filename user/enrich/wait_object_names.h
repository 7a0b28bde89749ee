/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of wait objects, read on the live machine: files, devices, peers, the owner of a mutex, and
 * the processes of the chain. Runs on the sink thread soon after the block, before descriptors are
 * closed and reused.
 */
#ifndef JANK_ENRICH_WAIT_OBJECT_NAMES_H
#define JANK_ENRICH_WAIT_OBJECT_NAMES_H

#include "model/block.h"
#include <stdint.h>

/*
 * Names what thread tid of process pid waited for. Unknown parts stay unknown. Returns 0 or
 * -ENOMEM.
 */
int wait_object_names__fill(struct wait_object *waited, uint32_t pid, uint32_t tid);

/* Sets the process name of the link. Returns 0 or -ENOMEM. */
int wait_object_names__link(struct link *link);

/* --- all waits of a block */

/*
 * Names the waits of the block's spans and of its chain's links, and the links' processes. ctx is
 * unused. Returns 0 or -ENOMEM.
 */
int block_waits__name(void *ctx, struct block *block);

#endif
