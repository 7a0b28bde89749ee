/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One bound in bytes for the evidence of all open dispatches together with what waits for the
 * sinks: traced programs choose how many threads they have, how deep their stacks are and how long
 * a dispatch lasts. The budget only keeps the books, and says whose evidence goes next: first the
 * largest is thinned, then the oldest dropped. Each call takes O(log holders). On the intake
 * thread.
 */
#ifndef JANK_MODEL_BUDGET_H
#define JANK_MODEL_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * With 14 MB at rest, 8 MiB each for unwound stacks (stack_cache.h) and for other threads
 * (thread_history.h), and some 20 MB while a largest record is named and written, a run stays below
 * the MemoryMax=100M of an agent. The queue takes 16 MiB of it at most, so 8 MiB are always left
 * for evidence.
 */
#define BUDGET_BYTES_MAX (24u << 20)

struct budget;

/* A dispatch's part; embedded in what owns the evidence. All zeroes: holds nothing. */
struct holder {
	uint64_t since_ns; /* the dispatch's begin */
	size_t bytes;
	size_t heap_at;		    /* place among the holders by age, from 1; 0: none */
	unsigned size_class;	    /* of thinnable ones, from 1; 0: none */
	struct holder *prev, *next; /* in that class */
};

enum budget_step {
	BUDGET_FITS,
	BUDGET_THIN, /* the largest of those that can be thinned, to half a power of two */
	BUDGET_DROP, /* the oldest; none can be thinned that holds more than the average */
};

struct budget *budget__new(size_t max);	  /* NULL: out of memory */
void budget__free(struct budget *budget); /* accepts NULL; holders stay their owners' */

/*
 * The holder has so much now; 0: it leaves the books. 0, or -ENOMEM: it is in no books, and is to
 * hold nothing.
 */
int budget__set(struct budget *budget, struct holder *holder, size_t bytes, bool thinnable);

/* What else counts: bytes that wait for the sinks. */
void budget__set_waiting(struct budget *budget, size_t bytes);

/* What is to be done next, and to whom. The caller does it, calls budget__set, and asks again. */
enum budget_step budget__step(const struct budget *budget, struct holder **ret);

size_t budget__bytes(const struct budget *budget); /* of all holders */

#endif
