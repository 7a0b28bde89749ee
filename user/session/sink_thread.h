/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sink thread: names, verdicts, sinks and the journal. Keeps slow work off the reader of the
 * ring.
 */
#ifndef JANK_SESSION_SINK_THREAD_H
#define JANK_SESSION_SINK_THREAD_H

#include "base/err.h"
#include "catalogue/catalogue.h"
#include "catalogue/idle_places.h"
#include "catalogue/loop_owner.h"
#include "deliver/deliver.h"
#include "enrich/applications.h"
#include "enrich/block_facts.h"
#include "enrich/interp_threads.h"
#include "enrich/parks.h"
#include "enrich/stack_cache.h"
#include "enrich/uv_pools.h"
#include "journal/journal.h"
#include "model/loss.h"
#include "model/unwatched.h"
#include "name/name.h"
#include "probes/history_buffers.h"
#include "session/histories.h"
#include "session/output.h"
#include "session/queue.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * --- probation.c: blocks of threads on probation
 *
 * the thread waits at a place that may be its loop, and this takes
 * some turns to decide. Blocks are kept for at most one minute, with 1 MiB for all threads
 * together, and are reported once the loop is certain. Used on the sink thread only.
 */

struct probation;

/* Reports or drops a block; the callee owns it from then on. */
typedef void (*probation_fn)(void *ctx, struct block *block);

/* report: the block belongs to a loop. drop: it does not, or makes room. NULL: out of memory. */
struct probation *probation__new(probation_fn report, probation_fn drop, void *ctx);
void probation__free(struct probation *probation); /* accepts NULL */

/* Takes ownership of the block; its `trial` is not 0. */
void probation__hold(struct probation *probation, struct block *block, uint64_t now_ns);

/*
 * The thread's loop is certain since its probation number `trial`. Blocks of other trials belong to
 * no loop.
 */
void probation__confirm(struct probation *probation, uint32_t tid, uint32_t trial, uint64_t now_ns);

void probation__on_exit(struct probation *probation, uint32_t pid); /* the process ended */
void probation__end(struct probation *probation);		    /* drops all */

/*
 * --- not_watched.c: list of what is not watched, with what only the sink thread knows
 *
 * The catalogue's rows, and the workers of interpreters. Completes the lists of the intake thread
 * (unwatched_look.c) and prints them to stderr.
 */

/* Processes of a row that is off (loops/go.loop): the probes ignore their threads. */
struct left_alone {
	struct parks *parks;		  /* borrowed, as is choice */
	const struct loop_choice *choice; /* NULL: all loops are wanted */
	bool forgets;			  /* ended ones: an agent, whose list would only grow */
	struct unwatched_list list;	  /* ended or not */
};

/* A process was seen or replaced its program; row is its row, or NULL. Returns 0 or -errno. */
int left_alone__update(struct left_alone *left, const Jankbpf__Identity *process,
		       const struct catalogue_row *row);
void left_alone__on_exit(struct left_alone *left, uint32_t pid);
void left_alone__free(struct left_alone *left);

struct not_watched {
	const struct left_alone *left_alone; /* the first three are borrowed */
	struct parks *parks;
	struct losses *losses;
	bool workers;  /* --workers is set */
	bool reported; /* something was reported */
	struct process_name *names;
	struct unwatched_list ended; /* entries of ended processes */
	struct unwatched_list waits; /* only pid and waits_at */
};

void not_watched__free(struct not_watched *nw); /* frees the owned members */

/* A process was seen, or ended: the latter before parks__on_exit. */
void not_watched__on_process(struct not_watched *nw, const Jankbpf__Identity *process);
void not_watched__on_exit(struct not_watched *nw, uint32_t pid);

void not_watched__complete(struct not_watched *nw, struct unwatched_list *list);

/* Adds a process with loops of a row that only -l switches on; drops its other entries. */
void not_watched__add_off(struct not_watched *nw, struct unwatched_list *list, uint32_t pid,
			  const char *name, const struct catalogue_row *row);
/* The functions in which a process's main thread waits, as long as it does. */
void not_watched__set_wait(struct not_watched *nw, uint32_t pid, const char *functions);
void not_watched__report(struct not_watched *nw, const struct unwatched_list *list);

/*
 * overrides.c: sets what the override of the block's process and loop has other than the rest.
 * Returns SHOWN, or why it is no block by that. Any thread.
 */
enum not_shown_reason block__obey(struct block *block, const struct options *opts);

/* --- sink_parts.c: what the sink thread uses; opened before its start, freed after its end */

struct sink_parts {
	const struct catalogue *catalogue; /* borrowed, as are choice and losses */
	const struct loop_choice *choice;
	struct losses *losses;
	bool find_waits;		/* look for waits of new processes (parks.h) */
	bool workers;			/* watch each of their threads (parks__watch_idle) */
	struct journal_writer *journal; /* NULL: none */
	struct symbolizer *symbolizer;
	struct untraced_procs *untraced_procs;
	struct copy_bpf_fds
		copy_bpf_fds; /* the session sets the _bpf_fds once the probes are loaded */
	struct stack_cache *stack_cache;
	struct interp_bpf_fds interp_bpf_fds;
	struct interp_threads *interp_threads;
	struct message_names message_names;
	struct loop_owner *loop_owner;
	struct park_bpf_fds park_bpf_fds;
	struct opening_bpf_fds opening_bpf_fds;
	struct parks *parks;
	struct idle_places *idle_places;
	struct applications *applications;
	struct uv_pools *uv_pools;
	struct output *output;
	struct probation *probation; /* its blocks go to the thread, which makes it */
	struct left_alone left_alone;
	struct not_watched not_watched;
	struct name_hint name_hint;
	struct history_buffers history_buffers; /* of --record; the session maps them */
	struct histories *histories;		/* NULL: none */
};

#define SINK_PARTS_NONE                                                                            \
	{                                                                                          \
		.copy_bpf_fds = COPY_MAPS_NONE, .interp_bpf_fds = SCRIPT_MAPS_NONE,                \
		.park_bpf_fds = PARK_MAPS_NONE, .opening_bpf_fds = { -1, -1 },                     \
	}

struct sink_parts_opts {
	const struct options *opts;
	const struct catalogue *catalogue; /* borrowed by the parts, as are the next two */
	const struct loop_choice *choice;
	struct losses *losses;
	struct deliver *deliver;   /* borrowed; NULL: the command has no sinks */
	struct react *react;	   /* borrowed; NULL: no commands */
	struct name_client *names; /* borrowed */
	struct fetch_source debug_files;
};

int sink_parts__open(struct sink_parts *parts, const struct sink_parts_opts *opts, struct err *err);
void sink_parts__close(struct sink_parts *parts);

/* A process was seen, or replaced its program; its libraries may be other ones. */
void sink_parts__on_program(struct sink_parts *parts, const Jankbpf__Identity *process);
/* The one exit path of the sink thread. */
void sink_parts__on_exit(struct sink_parts *parts, uint32_t pid);
/* Enters the thread's interpreter frames for the probes, if it has some. */
void sink_parts__on_thread(struct sink_parts *parts, uint32_t pid, uint32_t tid);

/* --- handler_look.c: dispatches that were open before the trace, by the stack of their thread */

/* A thread, as openings.c found it. */
struct handler_look {
	uint64_t sleep_cnt;	     /* it has not slept since, as long as this is the same */
	bool may_rest, rests, alone; /* as in main_handler.h, like the next */
	int32_t lock_epfd;
	bool all;   /* of -a or -f: too many to name their stacks */
	bool plain; /* no dispatch can be opened: only the stack is asked for */
	struct jank_seen_wait wait;
	struct jank_copy copy; /* its registers and stack */
};

/*
 * Looks on the stack for a handler of a loop that the catalogue knows. Answers by the probes' map
 * of openings: the iterator opens its dispatch, or JANK_OPENING_WITHDRAWN. 0 or -ENOMEM.
 */
int handler_look__judge(struct sink_parts *parts, const struct handler_look *look);

/* --- sink_thread.c: the thread, which handles the items of the queue */

/*
 * Data of the items (owned by the item):
 * ITEM_BLOCK struct block; ITEM_SUMMARY struct summary; ITEM_INTERVAL struct interval
 * ITEM_RAW whole records for the journal
 * ITEM_PROCESS Jankbpf__Identity (pid was seen, or replaced its program)
 * ITEM_WAIT struct wait_note; ITEM_COPY a COPY or SCRIPT record
 * ITEM_LOOK struct handler_look
 * ITEM_MAP struct mapping followed by its path; without data: read the mappings again
 * ITEM_UNWATCHED struct unwatched_list
 * ITEM_OPTIONS struct live_options, with a hold
 * ITEM_MAIN (parks__watch_idle), ITEM_PROCESS_GONE, ITEM_STOP: none
 */
struct sink_thread;

struct sink_thread_opts {
	struct queue *queue; /* borrowed, as is parts */
	struct sink_parts *parts;
	bool report_unwatched; /* at the end, too: no terminal gets the summary */
	bool intervals;	       /* there will be ITEM_INTERVAL */
	bool eager;	       /* look up the name of each loop at once, for its parks */
	/* Processes whose symbol tables are read before their first block; borrowed. */
	const pid_t *prepared;
	size_t prepared_cnt;
	void (*at_end)(void *ctx, struct loop_owner *loop_owner); /* NULL: none */
	void *at_end_ctx;
	/* Their processes get the thread's priority. Borrowed; deliver may be NULL. */
	struct deliver *deliver;
	struct name_client *names;
	uint64_t count; /* stop after this many blocks; 0: no limit */
	int closed_fd;	/* eventfd, written when stdout has no reader, or after the last block */
};

int sink_thread__start(const struct sink_thread_opts *opts, struct sink_thread **ret,
		       struct err *err);

/*
 * Called periodically by the ring's thread. Lowers the sink thread's priority in favour of the
 * traced program, except when items wait too long.
 */
void sink_thread__pace(struct sink_thread *sink);

/*
 * The run ends: from a second after this on, blocks are written without their stacks. Accepts NULL.
 */
void sink_thread__hurry(struct sink_thread *sink);

/*
 * Ends the queue, waits until all earlier items are written, and frees the sink thread. False: this
 * took longer than patience_ns (0: no limit); the thread continues, call again. Accepts NULL.
 */
bool sink_thread__finish(struct sink_thread *sink, uint64_t patience_ns);

#endif
