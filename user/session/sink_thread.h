/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink thread: names, verdicts, sinks and the journal. Keeps slow work off the reader of the
 * ring.
 */
#ifndef JANK_SESSION_SINK_THREAD_H
#define JANK_SESSION_SINK_THREAD_H

#include "base/err.h"
#include "catalogue/catalogue.h"
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
 * Data of the items (owned by the item):
 * ITEM_BLOCK struct block; ITEM_SUMMARY struct summary; ITEM_RAW whole records for the journal
 * ITEM_PROCESS struct identity (pid was seen, or replaced its program)
 * ITEM_WAIT struct wait_note; ITEM_COPY a COPY or SCRIPT record
 * ITEM_MAP struct mapping followed by its path; without data: read the mappings again
 * ITEM_UNWATCHED struct unwatched_list
 * ITEM_MAIN (parks__watch_idle), ITEM_PROCESS_GONE, ITEM_STOP: none
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
	bool find_waits;     /* look for waits of new processes (parks.h) */
	bool workers;	     /* watch each of their threads (parks__watch_idle) */
	bool tell_unwatched; /* report them at the end, too: no terminal gets the summary */
	bool eager;	     /* look up the name of each loop at once, for its parks */
	const struct loop_choice *choice;
	void (*found)(void *ctx, struct loop_owner *whose); /* called at the end; NULL: none */
	void *found_ctx;
	uint64_t count; /* stop after this many blocks; 0: no limit */
	int closed_fd;	/* eventfd, written when stdout has no reader, or after the last block */
};

int sink_thread__start(const struct sinker_opts *opts, struct sink_thread **ret, struct err *err);

/*
 * Called periodically by the ring's thread. Lowers the sink thread's priority in favour of the
 * traced program, except when items wait too long.
 */
void sink_thread__pace(struct sink_thread *sinker);

/*
 * Ends the queue, waits until all earlier items are written, and frees the sink thread. False: this
 * took longer than patience_ns (0: no limit); the thread continues, call again. Accepts NULL.
 */
bool sink_thread__finish(struct sink_thread *sinker, uint64_t patience_ns);

#endif
