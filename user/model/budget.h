/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One limit in bytes for the evidence of all open dispatches plus the records queued for the sinks.
 * Traced programs choose the number of threads, the stack depths and the dispatch durations. The
 * budget only counts, and selects the next holder to shrink: first thin the largest, then drop the
 * oldest. Each call takes O(log holders). Used on the intake thread.
 */
#ifndef JANK_MODEL_BUDGET_H
#define JANK_MODEL_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	size_t bytes;
	size_t heap_at;		    /* heap index by age, from 1; 0: not in the heap */
	unsigned size_class;	    /* for thinnable holders, from 1; 0: none */
	struct holder *prev, *next; /* list of the same size class */
};

enum budget_step {
	BUDGET_FITS,
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
