/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Path of a judged block: name its stacks, make the verdict, write it to the sinks and the journal.
 * Used by the sink thread, and directly by a replay.
 */
#ifndef JANK_SESSION_OUTPUT_H
#define JANK_SESSION_OUTPUT_H

#include "base/err.h"
#include "deliver/deliver.h"
#include "deliver/react.h"
#include "journal/journal.h"
#include "model/block.h"
#include "model/loss.h"
#include "name/name.h"
#include "options/options.h"
#include "session/live_options.h"

/*
 * Functions that add names to a block, from the live machine or from a journal. callers runs first
 * and puts the found callers into the block's stacks. name: frames of the block's process;
 * name_untraced: frames of another process at t_ns. message: the block's message; wait_objects:
 * its wait objects and owners. All return 0 or -ENOMEM.
 */
struct namer {
	/* Fills the frames of all stacks. */
	int (*name)(void *ctx, uint32_t pid, struct stack *const *stacks, size_t cnt);
	uint64_t (*cut_cnt)(void *ctx); /* look-ups that `name` cut short so far; NULL: none */
	void *ctx;
	int (*name_untraced)(void *ctx, uint32_t pid, uint64_t t_ns, struct stack *stack);
	void *untraced_ctx;
	int (*message)(void *ctx, struct block *block);
	void *message_ctx;
	int (*wait_objects)(void *ctx, struct block *block);
	void *wait_objects_ctx;
	int (*callers)(void *ctx, struct block *block);
	void *callers_ctx;
};

struct output_blocks;
struct output;

/* Uses these options from now on; takes over their hold. */
const struct options *output__options(const struct output *out); /* that apply now */
void output__adapt(struct output *out, struct live_options *live);

/* All but the namer, which is copied, are borrowed. */
struct output_opts {
	const struct options *options;
	const struct namer *namer;
	struct journal_writer *journal; /* NULL: none */
	struct deliver *deliver; /* the process with the sinks; NULL: sinks in this process */
	struct react *react;	 /* the process that runs commands; NULL: none */
	const struct name_client *names; /* the process that makes names; NULL: names are known */
	struct losses *losses;
	struct histories *histories; /* NULL: none */
};

/* Opens the sinks of the options: stdout as text or JSON, the directory. */
int output__new(const struct output_opts *opts, struct output **ret, struct err *err);
void output__free(struct output *out); /* accepts NULL */

/*
 * Names what may soon be gone: descriptors, peers, callers. Call it once for each block, before
 * output__block.
 */
void output__enrich(struct output *out, struct block *block);

/* Blocks written so far. */
uint64_t output__block_cnt(const struct output *out); /* any thread, as the next one */
uint64_t output__hang_cnt(const struct output *out);

/*
 * Names the rest, judges and writes. Returns 0, or -EPIPE when stdout has no reader. Other failures
 * of a sink are counted; the first of each sink is logged.
 */
int output__block(struct output *out, struct block *block);
void output__on_exit(struct output *out, uint32_t pid); /* the process ended */

/* Counts a block that is not shown; the journal notes it. */
void output__left_out(struct output *out, const struct block *block, enum not_shown_reason reason);

/* Says it with -v: see struct not_shown. */
void output__tell_not_shown(enum not_shown_reason reason, uint32_t pid, uint64_t delay_ns);

/* The handlers that output__block left out, because their loop turned in them. */
struct nested_turns;
const struct nested_turns *output__nested(const struct output *out);

/* Counts what happened between blocks to the process that makes names. */
void output__count_restarts(struct output *out);

/* A process was seen, or replaced its program. */
void output__saw(struct output *out, uint32_t pid);

/* Writes a history. As above. */
struct history;
int output__history(struct output *out, const struct history *history,
		    const struct output_blocks *blocks);

/* Sets the counts of blocks to those reported since the last interval, and writes it. As above. */
int output__interval(struct output *out, struct interval *interval);

/*
 * Sets the summary's counts of blocks and hangs to the reported ones and writes it. Returns as
 * above.
 */
int output__summary(struct output *out, struct summary *summary);

#endif
