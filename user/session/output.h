/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens to a judged block: its stacks get names, the verdict is made, the sinks and the
 * journal get it. Used by the sink thread, and directly by a replay.
 */
#ifndef JANK_SESSION_OUTPUT_H
#define JANK_SESSION_OUTPUT_H

#include "base/err.h"
#include "journal/journal.h"
#include "model/block.h"
#include "model/loss.h"
#include "options/options.h"
#include <stdbool.h>

/*
 * Puts found callers into a block's stacks (callers, first of all), and gives names: to the frames
 * of a stack of the block's process, and of one that another had at t_ns; to a block's message; to
 * what it waited for, and for whom. The living machine's names, or a journal's. 0 or -ENOMEM.
 */
struct namer {
	int (*name)(void *ctx, uint32_t pid, struct stack *stack);
	uint64_t (*cut_cnt)(void *ctx); /* look-ups that `name` cut short so far; NULL: none is */
	void *ctx;
	int (*foreign)(void *ctx, uint32_t pid, uint64_t t_ns, struct stack *stack);
	void *foreign_ctx;
	int (*message)(void *ctx, struct block *block);
	void *message_ctx;
	int (*waited)(void *ctx, struct block *block);
	void *waited_ctx;
	int (*callers)(void *ctx, struct block *block);
	void *callers_ctx;
};

struct output;

/*
 * The sinks that the options ask for: stdout as text or JSON, the directory. jw may be NULL;
 * borrowed.
 */
int output__new(const struct options *opts, const struct namer *namer, struct journal_writer *jw,
		struct losses *losses, struct output **ret, struct err *err);
void output__free(struct output *out); /* accepts NULL */

/*
 * Names what may be gone before long: descriptors, peers, callers. Once for each block, before
 * output__block.
 */
void output__resolve_all(struct output *out, struct block *block);

/*
 * Names the rest, judges and writes. 0, or -EPIPE when nobody reads stdout any more; other failures
 * of a sink are counted (and the first of each told).
 */
int output__block(struct output *out, struct block *block);
void output__left_out(struct output *out,
		      const struct block *block);	/* for the journal: not shown */
void output__on_exit(struct output *out, uint32_t pid); /* the process */

/*
 * Sets the summary's counts of blocks and hangs to those that were reported, and writes it. Result
 * as above.
 */
int output__summary(struct output *out, struct summary *summary);

/* Is it a terminal whose user did not forbid colour (NO_COLOR)? */
bool output__wants_color(int fd);

#endif
