/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for stacks of untraced processes that a traced process waited for. Their mappings are read
 * when one of their stacks arrives and freed after a while, since no event reports their end. Used
 * on the sink thread only.
 */
#ifndef JANK_ENRICH_UNTRACED_PROCS_H
#define JANK_ENRICH_UNTRACED_PROCS_H

#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

#define UNTRACED_MAX	32
#define UNTRACED_AGE_NS (60ull * 1000000000)

struct untraced_procs;

struct untraced_procs *
untraced_procs__new(struct symbolizer *symbolizer);	 /* borrowed; NULL: out of memory */
void untraced_procs__free(struct untraced_procs *procs); /* accepts NULL */

/*
 * Fills the frames of a stack of pid at t_ns (CLOCK_MONOTONIC). If the process ended or the pid was
 * reused, user frames stay bare addresses. Returns 0 or -ENOMEM.
 */
int untraced_procs__name(void *procs, uint32_t pid, uint64_t t_ns, struct stack *stack);

/*
 * True if the symbolizer can name frames of the process as of t_ns: it still exists and the pid was
 * not reused.
 */
bool untraced_procs__may_ask(struct untraced_procs *procs, uint32_t pid, uint64_t t_ns);

/* Frees processes that were not used for UNTRACED_AGE_NS before now_ns. */
void untraced_procs__sweep(struct untraced_procs *procs, uint64_t now_ns);

#endif
