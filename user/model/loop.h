/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events become dispatches: what is gathered for each thread (stacks, spans, who ran instead) until its
 * block or hang arrives. Counts of threads that ended are kept by process and loop kind.
 */
#ifndef JANK_LOOP_H
#define JANK_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/block.h"
#include "model/event.h"
#include "model/hist.h"
#include "model/loss.h"
#include "model/message.h"

struct loops;

/* A dispatch that was reported, with its evidence; dispatch__free releases it. */
struct dispatch {
	struct jank_rec_block rec;
	bool hang;	    /* still open */
	bool hang_reported; /* a hang was reported before its end */
	struct sample *samples;
	size_t sample_cnt;
	struct other_task *preemptors; /* by task, worst first */
	size_t preemptor_cnt;
	struct message *message; /* what was handled, not named yet; NULL: not known */
	uint64_t capped_cnt;	 /* samples left out: too many */
};

struct loops *loops__new(struct losses *losses); /* NULL: out of memory */
void loops__free(struct loops *loops);

/* Takes an event in. *ret: the dispatch that it completes (owned by the caller), or NULL. 0 or -ENOMEM. */
int loops__event(struct loops *loops, const struct event *event, struct dispatch **ret);

void dispatch__free(struct dispatch *dispatch);

/* A process ended, whose counts are to be told by this name. 0 or -ENOMEM. */
int loops__name_ended(struct loops *loops, uint32_t pid, const char *name);

/* The ended threads' counts; borrowed. */
const struct hists *loops__ended(const struct loops *loops);

#endif
