/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink thread: names, verdicts, sinks and the journal, so that the ring's reader waits for
 * none.
 */
#ifndef JANK_SESSION_SINK_THREAD_H
#define JANK_SESSION_SINK_THREAD_H

#include "base/err.h"
#include "catalogue/loop_choice.h"
#include "catalogue/loop_owner.h"
#include "enrich/interp_threads.h"
#include "enrich/parks.h"
#include "enrich/stack_cache.h"
#include "journal/journal.h"
#include "model/loss.h"
#include "session/output.h"
#include "session/queue.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * What the items carry (owned by the item):
 *   ITEM_BLOCK struct block · ITEM_SUMMARY struct summary · ITEM_RAW whole records for the journal ·
 *   ITEM_PROCESS struct identity (pid was seen, or has a new program) · ITEM_WAIT struct wait_note ·
 *   ITEM_MAP struct mapping, its path behind it; nothing: they are to be read again ·
 *   ITEM_UNWATCHED struct unwatched_list · ITEM_COPY a COPY or SCRIPT record · ITEM_MAIN (parks__watch_idle),
 *   ITEM_PROCESS_GONE, ITEM_STOP nothing
 */
struct sink_thread;

struct sinker_opts {
	struct queue *queue;
	struct output *output;
	struct symbolizer *symbolizer;
	struct stack_cache *callers;
	struct interp_threads *scripts;
	struct journal_writer *journal; /* NULL: none */
	struct losses *losses;
	struct loop_owner *whose;
	struct parks *parks;
	bool find_waits;     /* of processes as they are met (parks.h) */
	bool workers;	     /* of each of their threads (parks__watch_idle) */
	bool tell_unwatched; /* at the end, too: the summary goes to no terminal */
	bool eager;	     /* each loop's name is looked up at once, for its parks */
	const struct loop_choice *choice;
	void (*found)(void *ctx, struct loop_owner *whose); /* at the end; NULL: none */
	void *found_ctx;
	uint64_t count; /* blocks, then no more; 0: no limit */
	int closed_fd; /* an eventfd, written when stdout has no reader any more, or after the last block */
};

int sink_thread__start(const struct sinker_opts *opts, struct sink_thread **ret, struct err *err);

/*
 * Called every now and then by the ring's thread. It makes way for the traced program, but for what
 * waits too long for it.
 */
void sink_thread__pace(struct sink_thread *sinker);

/*
 * Puts an end to the queue, waits until all before it is written, and frees it. False: that took
 * longer than patience_ns (0: none is too long), it goes on and is to be called again. Accepts
 * NULL.
 */
bool sink_thread__finish(struct sink_thread *sinker, uint64_t patience_ns);

#endif
