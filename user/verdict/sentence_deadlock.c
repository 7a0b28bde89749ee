/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cycle of a deadlock: "main thread → mutex 'a' held by thread 'x' (tid 12) → …". */
#include <inttypes.h>

#include "model/pid.h"
#include "verdict/sentence.h"

static const char *lock_of(const struct wait_object *waited)
{
	return waited && waited->lock ? waited->lock : "lock";
}

/* Adds " held by thread 'x' (tid 12)", or that nobody will release it. */
static void add_holder(struct strbuf *sb, const struct block *block, const struct link *link)
{
	if (link->gone == LINK_FORK) {
		strbuf__addf(sb, " held since the fork by thread %" PRIu32 " of its parent",
			     link->task.tid);
		if (link->task.pid && link->process)
			strbuf__adds(sb, " ");
		if (link->task.pid && link->process)
			words__add_name(sb, link->process);
		strbuf__adds(sb, " (");
		pid__add(sb, link->task.pid);
		strbuf__adds(sb, ")");
		return;
	}
	strbuf__adds(sb, " held by ");
	if (link->gone == LINK_ENDED)
		strbuf__addf(sb, "thread %" PRIu32 ", which has ended", link->task.tid);
	else
		words__add_task(sb, block, &link->task, link->process);
}

void sentence__add_deadlock(struct strbuf *sb, const struct block *block,
			    const struct wait_object *waited)
{
	const struct link *last = &block->chain[block->chain_cnt - 1];

	strbuf__adds(sb, ": deadlock: ");
	if (block->chain_cnt == 1 && last->task.tid == block->tid && !last->gone) {
		words__add_name(sb, lock_of(waited));
		strbuf__adds(sb, ", which it holds itself");
		return;
	}
	words__add_thread(sb, block);
	for (size_t i = 0; i < block->chain_cnt; i++) {
		strbuf__adds(sb, " → ");
		words__add_name(sb, lock_of(waited));
		add_holder(sb, block, &block->chain[i]);
		waited = block->chain[i].waited;
	}
	if (waited) { /* the last one waits for a lock that has no owner */
		strbuf__adds(sb, " → ");
		words__add_name(sb, lock_of(waited));
	}
}
