/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names for stacks of processes that are not traced: those that a traced one waited for. Their mappings are read when
 * a stack of theirs comes, and forgotten after a while: their end is told by nobody. On the sink thread.
 */
#ifndef JANK_ENRICH_UNTRACED_PROCS_H
#define JANK_ENRICH_UNTRACED_PROCS_H

#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

#define FOREIGN_MAX    32
#define FOREIGN_AGE_NS (60ull * 1000000000)

struct foreign;

struct foreign *foreign__new(struct symbolizer *symbolizer); /* borrowed; NULL: out of memory */
void foreign__free(struct foreign *foreign);		     /* accepts NULL */

/*
 * Fills the frames of a stack that pid had at t_ns (CLOCK_MONOTONIC). Where the process is gone, or its number another's,
 * the user part stays bare addresses. 0 or -ENOMEM.
 */
int foreign__name(void *foreign, uint32_t pid, uint64_t t_ns, struct stack *stack);

/* May the symbolizer be asked of the process as it was at t_ns? Not when it is gone, or its number another's. */
bool foreign__may_ask(struct foreign *foreign, uint32_t pid, uint64_t t_ns);

/* Forgets those that nobody asked for since FOREIGN_AGE_NS before now. */
void foreign__sweep(struct foreign *foreign, uint64_t now_ns);

#endif
