/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for stacks of processes that are not traced: those that a traced one waited for. Their
 * mappings are read when a stack of theirs comes, and forgotten after a while: their end is told by
 * nobody. On the sink thread.
 */
#ifndef JANK_ENRICH_UNTRACED_PROCS_H
#define JANK_ENRICH_UNTRACED_PROCS_H

#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

#define FOREIGN_MAX    32
#define FOREIGN_AGE_NS (60ull * 1000000000)

struct untraced_procs;

struct untraced_procs *
untraced_procs__new(struct symbolizer *symbolizer);	   /* borrowed; NULL: out of memory */
void untraced_procs__free(struct untraced_procs *foreign); /* accepts NULL */

/*
 * Fills the frames of a stack that pid had at t_ns (CLOCK_MONOTONIC). Where the process is gone, or
 * its number another's, the user part stays bare addresses. 0 or -ENOMEM.
 */
int untraced_procs__name(void *foreign, uint32_t pid, uint64_t t_ns, struct stack *stack);

/*
 * May the symbolizer be asked of the process as it was at t_ns? Not when it is gone, or its number
 * another's.
 */
bool untraced_procs__may_ask(struct untraced_procs *foreign, uint32_t pid, uint64_t t_ns);

/* Forgets those that nobody asked for since FOREIGN_AGE_NS before now. */
void untraced_procs__sweep(struct untraced_procs *foreign, uint64_t now_ns);

#endif
