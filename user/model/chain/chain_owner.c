/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Holders as their mutexes name them, once /proc was asked: in a pid namespace of its own a process knows its
 * threads by other numbers, and of a hang's holder nothing but a number may be known.
 */
#include <string.h>

#include "model/chain/chain.h"
#include "model/link.h"

/* What the link's predecessor waited for, the dispatch being the first's. */
static const struct waited *waited_before(const struct block *block, size_t i)
{
	return i ? block->chain[i - 1].waited : block->samples[block->chain_sample].waited;
}

/* False: nobody ever heard of that thread, and it is none. */
static bool settle(struct link *link, const struct other_task *owner)
{
	bool unheard = link->role == LINK_HELD && link->state == JANK_STATE_CNT &&
		       !link->wake_stack.addresses && !*link->task.comm;

	if (!owner->tid)
		return !unheard;
	if (unheard) {
		link->task.pid = owner->pid;
		link->task.tid = owner->tid;
	}
	if (link->task.tid != owner->tid)
		return true;
	link->role = LINK_HELD;
	if (!*link->task.comm)
		memcpy(link->task.comm, owner->comm, sizeof(owner->comm));
	return true;
}

void chain__settle_owners(struct block *block)
{
	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct waited *waited = waited_before(block, i);
		const struct other_task none = { 0 };

		if (settle(&block->chain[i], waited ? &waited->owner : &none))
			continue;
		links__cut(&block->chain, &block->chain_cnt, i);
		return;
	}
}
