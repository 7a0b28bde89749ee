/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that owns a lock, and the words for the lock. Sink thread. */
#ifndef JANK_ENRICH_LOCK_OWNER_H
#define JANK_ENRICH_LOCK_OWNER_H

#include "model/block.h"
#include "procfs/futex_wait.h"
#include "symbol/names/symbolize.h"

struct lock_owner {
	uint32_t pid, tid;   /* gone: pid 0 or its process, tid as the lock has it */
	enum link_gone gone; /* it will not release the lock, for this reason */
};

/*
 * Finds the owner of the lock that a thread of process pid waits for. A number that no thread has
 * is an owner that has ended only where numbers are known: not if the process shares the lock from
 * another pid namespace. False: the owner is not known.
 */
bool lock_owner__find(const char *proc, uint32_t pid, const struct futex_wait *wait,
		      struct lock_owner *ret);

/* Writes "mutex 'queue_lock'" or "mutex in the heap". symbolizer: NULL: variables have no name. */
void lock_owner__name(struct symbolizer *symbolizer, const char *proc, uint32_t pid,
		      const struct futex_wait *wait, char *buf, size_t cap);

#endif
