/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The callers of sampled threads, found in copies of their stacks, until the block comes that wants them. A copy of a
 * thread with a dispatch is walked as it comes, while its process lives and its mappings are as they were; one of another
 * thread is kept as it is, since few of these are asked for. Entries of a dispatch are freed when
 * the thread's next one has some. All are within a bound of memory, half of which the other threads may have; the oldest go first.
 * On the sink thread.
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

struct callers;

/* All borrowed. NULL: out of memory. */
struct callers *callers__new(struct symbolizer *symbolizer, struct foreign *foreign,
			     struct copy_maps *maps, struct losses *losses);
void callers__free(struct callers *callers); /* accepts NULL */

/* Takes a COPY or SCRIPT record, whose memory is the callee's from here on. 0, -EBADMSG or -ENOMEM. */
int callers__take(struct callers *callers, void *record, size_t size);

/*
 * Puts what is known of them into the stacks of a block, before they are named. What was dropped of its dispatch is a loss, of
 * the block and of all. 0 or -ENOMEM.
 */
int callers__fill(void *callers, struct block *block);

/* The process has ended, or has a new program. */
void callers__gone(struct callers *callers, uint32_t pid);

size_t callers__bytes(const struct callers *callers);

#endif
