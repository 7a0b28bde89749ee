/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where threads wait for their next dispatch: the callers of a loop's wait, unwound from the copy of the stack that came with
 * it. Frames that a block's stack shares with them belong to the dispatcher, not to the handler. The last wait of each of at
 * most 8192 threads is kept. Used on the sink thread only.
 */
#ifndef JANK_CATALOGUE_IDLE_PLACES_H
#define JANK_CATALOGUE_IDLE_PLACES_H

#include "catalogue/wait_note.h"
#include "model/block.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

struct idle_places;

struct idle_places *idle_places__new(struct symbolizer *sym); /* borrowed; NULL: out of memory */
void idle_places__free(struct idle_places *places);	      /* accepts NULL */

/* Unwinds the note's copy, if it has one. 0 or -ENOMEM. */
int idle_places__note(struct idle_places *places, const struct wait_note *note);

/* Sets block->idle_place, where one is known of its thread. 0 or -ENOMEM. */
int idle_places__fill(const struct idle_places *places, struct block *block);

/*
 * Did the thread go to rest in the middle of it? Another thread than the main one may be a worker that polled now and then: if for most
 * of the block it slept at one place on a futex that is no lock, with fewer frames than its loop's wait has, that is its idle place. Where
 * the callers of the loop's wait are not known, it must have come there twice. The block's own callers must have been found.
 */
bool idle_places__rests(const struct idle_places *places, const struct block *block);

/* How many of a process's return addresses, the innermost exact, are outside of the C library and its kin. */
uint32_t idle_places__depth(struct symbolizer *sym, uint32_t pid, const uint64_t *addresses,
			    uint32_t cnt);

void idle_places__gone(struct idle_places *places,
		       uint32_t pid); /* the process has ended, or is another program */

#endif
