/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evidence of one dispatch, collected until its block or hang record arrives: timed stacks,
 * preemptors, the handled message, and facts. Owns everything reachable.
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
	size_t bytes;			/* approximate size in memory of all that it holds */
	uint64_t capped_cnt;		/* samples dropped: too many */
	uint64_t preemptors_capped_cnt; /* slices dropped: too many tasks */
	struct other_task *preemptors;	/* by task */
	size_t preemptor_cnt;
	struct jank_rec_message *message; /* NULL: not known */
	struct facts facts;		  /* without the CPU's speed */
	struct wait_object *pending;	  /* its sample has not arrived yet */
	uint64_t start_frozen_ns;	  /* as in struct block, with the next */
	struct other_task thawer;
};

/* Each adds a record. 0 or -ENOMEM; losses counts what exceeds the limits. */
int evidence__add_stack(struct evidence *evidence, const struct stack_event *event,
			struct losses *losses);
int evidence__add_waited(struct evidence *evidence, const struct jank_rec_waited *rec);
int evidence__set_message(struct evidence *evidence, const struct jank_rec_message *rec);
void evidence__set_facts(struct evidence *evidence, const struct jank_rec_facts *rec);

/*
 * Free memory. Thinning keeps about half of the samples; it requires evidence__is_thinnable.
 * Dropping keeps only the facts and the counts of dropped items. Both count in losses.
 */
bool evidence__is_thinnable(const struct evidence *evidence);
void evidence__thin(struct evidence *evidence, struct losses *losses);
void evidence__drop(struct evidence *evidence, struct losses *losses);

/*
 * Sorts samples by time and preemptors worst first. If samples were dropped, gives the rest equal
 * weight.
 */
void evidence__sort(struct evidence *evidence, struct losses *losses);

/* Time in which it was stopped because its cgroup was frozen. */
uint64_t evidence__frozen_ns(const struct evidence *evidence);

/* Moves all to the end of another one. 0; -ENOMEM: both are as before. */
int evidence__append(struct evidence *to, struct evidence *from);

/* Drops the samples from end_ns on. */
void evidence__end(struct evidence *evidence, uint64_t end_ns);

/* Time in which it waited for its user: for a terminal, or standard input; at most all spans. */
uint64_t evidence__input_ns(const struct evidence *evidence);

/* Deep copy. 0 or -ENOMEM; the caller must clear ret in both cases. */
int evidence__copy(struct evidence *ret, const struct evidence *from);
void evidence__clear(struct evidence *evidence); /* frees the contents; it is empty afterwards */

/*
 * Adds a task's slice to a list of at most `max` tasks, allocated here. 0, -ENOSPC (full) or
 * -ENOMEM.
 */
int tasks__add(struct other_task **tasks, size_t *cnt, size_t max, const struct jank_task *task,
	       uint16_t prio);
void tasks__sort(struct other_task *tasks, size_t cnt); /* worst first */

/*
 * --- budget.c: one limit in bytes for the evidence of all open dispatches plus the records queued
 * for the sinks. Traced programs choose the number of threads, the stack depths and the dispatch
 * durations. The budget only counts, and selects the next holder to shrink, always of the user who
 * holds most: first thin the largest, then drop the oldest. Each call takes O(log holders), a step
 * also O(users). Used on the intake thread.
 */

#define BUDGET_USERS_MAX 1024 /* further ones share the account of UID_UNKNOWN */

/*
 * Keeps a run below the MemoryMax=100M of an agent. The rest: 14 MB at idle, 8 MiB each for unwound
 * stacks (stack_cache.h) and other threads (thread_history.h), and about 20 MB while a record of
 * maximum size is symbolized and written. The queue takes at most 16 MiB of the budget, so evidence
 * always has 8 MiB.
 */
#define BUDGET_BYTES_MAX (24u << 20)

struct budget;

/* The share of one dispatch; embedded in the owner of the evidence. All zeroes: holds nothing. */
struct holder {
	uint64_t since_ns; /* start of the dispatch */
	uint32_t uid;	   /* changes only while it holds nothing */
	size_t bytes;
	size_t heap_at;		    /* heap index by age, from 1; 0: not in the heap */
	unsigned size_class;	    /* for thinnable holders, from 1; 0: none */
	struct holder *prev, *next; /* list of the same size class */
};

enum budget_step {
	BUDGET_FITS,
	/* of the user who holds most: */
	BUDGET_THIN, /* thin the largest thinnable holder (size class: half a power of two) */
	BUDGET_DROP, /* drop the oldest: no thinnable holder has more than the average */
};

struct budget *budget__new(size_t max);	  /* NULL: out of memory */
void budget__free(struct budget *budget); /* accepts NULL; callers own the holders */

/*
 * Sets the holder's size in bytes; 0 removes it. 0, or -ENOMEM: the holder is not counted and must
 * hold nothing.
 */
int budget__set(struct budget *budget, struct holder *holder, size_t bytes, bool thinnable);

/* Bytes queued for the sinks; they count too. */
void budget__set_waiting(struct budget *budget, size_t bytes);

/* The next step and its holder. The caller does the step, calls budget__set, and asks again. */
enum budget_step budget__step(const struct budget *budget, struct holder **ret);

size_t budget__bytes(const struct budget *budget); /* sum of all holders */

#endif
