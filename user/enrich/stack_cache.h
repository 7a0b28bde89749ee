/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks of blocks before they get names: which untraced processes have names, and the callers that
 * copies of stacks show. Used on the sink thread only.
 */
#ifndef JANK_ENRICH_STACK_CACHE_H
#define JANK_ENRICH_STACK_CACHE_H

#include "model/block.h"
#include "model/loss.h"
#include "probes/bpf_fds.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * --- untraced_procs.c: names for stacks of untraced processes that a traced process waited for.
 * Their mappings are read when one of their stacks arrives and freed after a while, since no event
 * reports their end.
 */

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

/*
 * --- stack_cache.c: cache of the callers of sampled threads, found in copies of their stacks.
 * Copies of threads in a dispatch are unwound with those that arrive at the same time, while their
 * processes still have the same mappings. Copies of other threads are kept as they are, since few
 * are needed. Entries of a dispatch are freed when the thread's next dispatch has entries. Bounded
 * by STACK_CACHE_BYTES_MAX, half of it for other threads; the oldest are dropped first.
 */

#define STACK_CACHE_BYTES_MAX (8u << 20)
#define OTHERS_AGE_NS	      (60ull * 1000000000)

struct stack_cache;

/* Borrows all. NULL: out of memory. */
struct stack_cache *stack_cache__new(struct symbolizer *symbolizer, struct untraced_procs *untraced,
				     struct copy_bpf_fds *maps, struct losses *losses);
void stack_cache__free(struct stack_cache *cache); /* accepts NULL */

/*
 * Takes a COPY or SCRIPT record and owns its memory from here on. Returns 0, -EBADMSG or -ENOMEM.
 */
int stack_cache__take(struct stack_cache *cache, void *record, size_t size);

/*
 * Unwinds the copies that arrived. Call it when no other copy follows at once, and before anything
 * that changes a process. Returns 0 or -ENOMEM.
 */
int stack_cache__unwind(struct stack_cache *cache);

/* True if stack_cache__unwind has work. */
bool stack_cache__waits(const struct stack_cache *cache);

/*
 * Puts the known callers into the stacks of a block, before they get names. Drops of its dispatch
 * are counted as losses of the block and of the session. Returns 0 or -ENOMEM.
 */
int stack_cache__fill(void *cache, struct block *block);

/* The process ended or replaced its program. */
void stack_cache__on_exit(struct stack_cache *cache, uint32_t pid);

/* Frees copies of other threads that are older than OTHERS_AGE_NS at now_ns (CLOCK_MONOTONIC). */
void stack_cache__rest(struct stack_cache *cache, uint64_t now_ns);

size_t stack_cache__bytes(const struct stack_cache *cache);

#endif
