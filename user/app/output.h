/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What happens to a judged block: its stacks get names, the verdict is made, the sinks and the
 * journal get it. Used by the sink thread, and directly by a replay.
 */
#ifndef JANK_OUTPUT_H
#define JANK_OUTPUT_H

#include <stdbool.h>

#include "app/options.h"
#include "base/err.h"
#include "intake/journal.h"
#include "model/block.h"
#include "model/loss.h"

/*
 * Gives the frames of a stack of pid their names, and a block's message its own: the living process's, or a
 * journal's. message may be NULL: there are none.
 */
struct namer {
	int (*name)(void *ctx, uint32_t pid, struct stack *stack);
	void *ctx;
	int (*message)(void *ctx, struct block *block);
	void *message_ctx;
};

struct output;

/* The sinks that the options ask for: stdout as text or JSON, the directory. jw may be NULL; borrowed. */
int output__new(const struct options *opts, const struct namer *namer, struct journal_writer *jw,
		struct losses *losses, struct output **ret, struct err *err);
void output__free(struct output *out); /* accepts NULL */

/* Names, judges and writes. 0, or -EPIPE when nobody reads stdout any more; other failures of a sink are
 * counted (and the first of each told). */
int output__block(struct output *out, struct block *block);
void output__left_out(struct output *out,
		      const struct block *block);    /* for the journal: not shown */
void output__gone(struct output *out, uint32_t pid); /* the process */
int output__summary(struct output *out, const struct summary *summary);

/* Is it a terminal whose user did not forbid colour (NO_COLOR)? */
bool output__wants_color(int fd);

#endif
