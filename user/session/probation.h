/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of threads on probation: the thread waits at a place that may be its loop, and this takes
 * some turns to decide. Blocks are kept for at most one minute, with 1 MiB for all threads
 * together, and are reported once the loop is certain. Used on the sink thread only.
 */
#ifndef JANK_SESSION_PROBATION_H
#define JANK_SESSION_PROBATION_H

#include "model/block.h"
#include <stdint.h>

struct probation;

/* Reports or drops a block; the callee owns it from then on. */
typedef void (*probation_fn)(void *ctx, struct block *block);

/* report: the block belongs to a loop. drop: it does not, or makes room. NULL: out of memory. */
struct probation *probation__new(probation_fn report, probation_fn drop, void *ctx);
void probation__free(struct probation *probation); /* accepts NULL */

/* Takes ownership of the block; its `trial` is not 0. */
void probation__hold(struct probation *probation, struct block *block, uint64_t now_ns);

/*
 * The thread's loop is certain since its probation number `trial`. Blocks of other trials belong to
 * no loop.
 */
void probation__confirm(struct probation *probation, uint32_t tid, uint32_t trial, uint64_t now_ns);

void probation__on_exit(struct probation *probation, uint32_t pid); /* the process ended */
void probation__end(struct probation *probation);		    /* drops all */

#endif
