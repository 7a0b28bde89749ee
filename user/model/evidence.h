/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is gathered for one dispatch until its block or hang arrives: timed stacks, who ran instead,
 * what was handled, and more on the dispatch. Everything reachable is owned by the evidence.
 */
#ifndef JANK_MODEL_EVIDENCE_H
#define JANK_MODEL_EVIDENCE_H

#include "model/block.h"
#include "model/event.h"
#include "model/loss.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evidence {
	struct sample *samples;
	size_t sample_cnt, sample_cap;
	size_t bytes;			/* of memory, about, of all that it holds */
	uint64_t capped_cnt;		/* samples left out: too many */
	uint64_t preemptors_capped_cnt; /* slices left out: of too many tasks */
	struct other_task *preemptors;	/* by task */
	size_t preemptor_cnt;
	struct message *message;     /* what was handled, not named yet; NULL: not known */
	struct facts facts;	     /* without the CPU's speed */
	struct wait_object *pending; /* its sample is yet to come */
};

/* Each takes a record in. 0 or -ENOMEM; what is over the limits is counted in losses. */
int evidence__add_stack(struct evidence *evidence, const struct stack_event *event,
			struct losses *losses);
int evidence__add_waited(struct evidence *evidence, const struct jank_rec_waited *rec);
int evidence__set_message(struct evidence *evidence, const struct jank_rec_message *rec);
void evidence__set_facts(struct evidence *evidence, const struct jank_rec_facts *rec);

/*
 * To make room. Thinning leaves about half of the samples, which is possible as long as
 * evidence__is_thinnable; dropping leaves only the counts of what was left out, and the facts. Both
 * count in losses.
 */
bool evidence__is_thinnable(const struct evidence *evidence);
void evidence__thin(struct evidence *evidence, struct losses *losses);
void evidence__drop(struct evidence *evidence, struct losses *losses);

/* Samples in time order, of equal weight where some were left out; preemptors worst first. */
void evidence__sort(struct evidence *evidence, struct losses *losses);

/* Deep. 0 or -ENOMEM; ret is then to be cleared all the same. */
int evidence__copy(struct evidence *ret, const struct evidence *from);
void evidence__clear(struct evidence *evidence); /* frees what it holds; it is empty then */

/*
 * Adds a task's slice to a list of `max` tasks at most, allocated here. 0; -ENOSPC: full; -ENOMEM.
 */
int tasks__add(struct other_task **tasks, size_t *cnt, size_t max, const struct jank_task *task,
	       uint16_t prio);
void tasks__sort(struct other_task *tasks, size_t cnt); /* worst first */

#endif
