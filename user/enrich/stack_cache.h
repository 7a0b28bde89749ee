/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The callers of sampled threads, found in copies of their stacks, until the block comes that wants
 * them. A copy of a thread with a dispatch is walked as it comes, while its process lives and its
 * mappings are as they were; one of another thread is kept as it is, since few of these are asked
 * for. Entries of a dispatch are freed when the thread's next one has some. All are within a bound
 * of memory, half of which the other threads may have; the oldest go first. On the sink thread.
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

#define CALLERS_BYTES_MAX (8u << 20)

struct stack_cache;

/* All borrowed. NULL: out of memory. */
struct stack_cache *stack_cache__new(struct symbolizer *symbolizer, struct untraced_procs *foreign,
				     struct copy_bpf_fds *maps, struct losses *losses);
void stack_cache__free(struct stack_cache *callers); /* accepts NULL */

/*
 * Takes a COPY or SCRIPT record, whose memory is the callee's from here on. 0, -EBADMSG or -ENOMEM.
 */
int stack_cache__take(struct stack_cache *callers, void *record, size_t size);

/*
 * Puts what is known of them into the stacks of a block, before they are named. What was dropped of
 * its dispatch is a loss, of the block and of all. 0 or -ENOMEM.
 */
int stack_cache__fill(void *callers, struct block *block);

/* The process has ended, or has a new program. */
void stack_cache__on_exit(struct stack_cache *callers, uint32_t pid);

size_t stack_cache__bytes(const struct stack_cache *callers);

#endif
