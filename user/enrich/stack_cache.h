/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of the callers of sampled threads, found in copies of their stacks. Copies of threads in a
 * dispatch are unwound on arrival, while the process still has the same mappings. Copies of other
 * threads are kept as they are, since few are needed. Entries of a dispatch are freed when the
 * thread's next dispatch has entries. Bounded by STACK_CACHE_BYTES_MAX, half of it for other
 * threads; the oldest are dropped first. Used on the sink thread only.
 */
#ifndef JANK_ENRICH_STACK_CACHE_H
#define JANK_ENRICH_STACK_CACHE_H

#include "enrich/untraced_procs.h"
#include "model/block.h"
#include "model/loss.h"
#include "probes/bpf_fds.h"
#include "symbol/names/symbolize.h"
#include <stddef.h>
#include <stdint.h>

#define STACK_CACHE_BYTES_MAX (8u << 20)

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
 * Puts the known callers into the stacks of a block, before they get names. Drops of its dispatch
 * are counted as losses of the block and of the session. Returns 0 or -ENOMEM.
 */
int stack_cache__fill(void *cache, struct block *block);

/* The process ended or replaced its program. */
void stack_cache__on_exit(struct stack_cache *cache, uint32_t pid);

size_t stack_cache__bytes(const struct stack_cache *cache);

#endif
