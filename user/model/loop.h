/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events become dispatches: what is gathered for each thread (stacks, spans, who ran instead) until
 * its block or hang arrives. Counts of threads that ended are kept by process and loop kind.
 */
#ifndef JANK_MODEL_LOOP_H
#define JANK_MODEL_LOOP_H

#include "model/block.h"
#include "model/chain/chain.h"
#include "model/event.h"
#include "model/evidence.h"
#include "model/hist.h"
#include "model/loss.h"
#include <stdbool.h>
#include <stdint.h>

struct loops;

/* A dispatch that was reported, with its evidence; dispatch__free releases it. */
struct dispatch {
	struct jank_rec_block rec;
	bool hang;	    /* still open */
	bool hang_reported; /* a hang was reported before its end */
	struct evidence evidence;
	struct chain chain; /* of its longest wait that somebody ended */
};

/* In ns; 0 as well where the record does not have it. */
uint64_t dispatch__start_delay(const struct jank_rec_block *rec);

struct loops *loops__new(struct losses *losses); /* NULL: out of memory */
void loops__free(struct loops *loops);

/*
 * Takes an event in. *ret: the dispatch that it completes (owned by the caller), or NULL. 0, or
 * -ENOMEM: something of the evidence is missing.
 */
int loops__event(struct loops *loops, const struct event *event, struct dispatch **ret);

/*
 * So many bytes wait for the sinks: they count in the one bound with the evidence (budget.h), from
 * the next event on.
 */
void loops__set_waiting(struct loops *loops, size_t bytes);

void dispatch__free(struct dispatch *dispatch);

/* A process ended, whose counts are to be told by this name. 0 or -ENOMEM. */
int loops__name_ended(struct loops *loops, uint32_t pid, const char *name);

/* The ended threads' counts; borrowed. */
const struct hists *loops__ended(const struct loops *loops);

#endif
