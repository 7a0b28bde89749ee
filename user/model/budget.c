/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A binary heap by age, and lists by size with two classes for each power of two. */
#include "model/evidence.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#define CLASS_CNT 130 /* two for each bit of a size, from 1 */

struct budget {
	size_t max, bytes, waiting;
	struct holder **heap; /* [1]: the oldest */
	size_t heap_cnt, heap_cap;
	struct holder *classes[CLASS_CNT];
};

struct budget *budget__new(size_t max)
{
	struct budget *budget = calloc(1, sizeof(*budget));

	if (budget)
		budget->max = max;
	return budget;
}

void budget__free(struct budget *budget)
{
	if (!budget)
		return;
	free(budget->heap);
	free(budget);
}

static unsigned class_of(size_t bytes)
{
	unsigned bit = 63 - __builtin_clzll(bytes);

	return 1 + 2 * bit + (bit && bytes >> (bit - 1) & 1);
}

static void set_class(struct budget *budget, struct holder *holder, unsigned size_class)
{
	if (holder->size_class == size_class)
		return;
	if (holder->size_class)
		DL_DELETE(budget->classes[holder->size_class], holder);
	holder->size_class = size_class;
	if (size_class)
		DL_APPEND(budget->classes[size_class], holder);
}

static void place(struct budget *budget, struct holder *holder, size_t at)
{
	budget->heap[at] = holder;
	holder->heap_at = at;
}

/* Moves the holder up from the free place `at` to its heap position. */
static void rise(struct budget *budget, struct holder *holder, size_t at)
{
	for (; at > 1 && budget->heap[at / 2]->since_ns > holder->since_ns; at /= 2)
		place(budget, budget->heap[at / 2], at);
	place(budget, holder, at);
}

/* The same downwards; returns the position. */
static size_t sink(struct budget *budget, const struct holder *holder, size_t at)
{
	for (;;) {
		size_t child = 2 * at;

		if (child > budget->heap_cnt)
			return at;
		if (child < budget->heap_cnt &&
		    budget->heap[child + 1]->since_ns < budget->heap[child]->since_ns)
			child++;
		if (budget->heap[child]->since_ns >= holder->since_ns)
			return at;
		place(budget, budget->heap[child], at);
		at = child;
	}
}

static int join(struct budget *budget, struct holder *holder)
{
	if (budget->heap_cnt + 1 >= budget->heap_cap) {
		size_t cap = budget->heap_cap ? 2 * budget->heap_cap : 64;
		struct holder **heap = realloc(budget->heap, cap * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		budget->heap = heap;
		budget->heap_cap = cap;
	}
	rise(budget, holder, ++budget->heap_cnt);
	return 0;
}

static void leave(struct budget *budget, struct holder *holder)
{
	size_t at = holder->heap_at;
	struct holder *last;

	set_class(budget, holder, 0);
	budget->bytes -= holder->bytes;
	holder->bytes = 0;
	if (!at)
		return;
	holder->heap_at = 0;
	last = budget->heap[budget->heap_cnt--];
	if (last != holder)
		rise(budget, last, sink(budget, last, at));
}

int budget__set(struct budget *budget, struct holder *holder, size_t bytes, bool thinnable)
{
	if (!bytes) {
		leave(budget, holder);
		return 0;
	}
	if (!holder->heap_at && join(budget, holder))
		return -ENOMEM;
	budget->bytes += bytes - holder->bytes;
	holder->bytes = bytes;
	set_class(budget, holder, thinnable ? class_of(bytes) : 0);
	return 0;
}

void budget__set_waiting(struct budget *budget, size_t bytes)
{
	budget->waiting = bytes;
}

static struct holder *largest(const struct budget *budget)
{
	for (unsigned i = CLASS_CNT - 1; i; i--)
		if (budget->classes[i])
			return budget->classes[i];
	return NULL;
}

/*
 * A dispatch below the average is not thinned: the only one with many samples may be a small one
 * among thousands with a few large samples.
 */
enum budget_step budget__step(const struct budget *budget, struct holder **ret)
{
	*ret = NULL;
	if (budget->bytes + budget->waiting <= budget->max || !budget->heap_cnt)
		return BUDGET_FITS;
	*ret = largest(budget);
	if (*ret && (*ret)->bytes >= budget->bytes / budget->heap_cnt)
		return BUDGET_THIN;
	*ret = budget->heap[1];
	return BUDGET_DROP;
}

size_t budget__bytes(const struct budget *budget)
{
	return budget->bytes;
}
