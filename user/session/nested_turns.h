/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handlers in which their loop turned (JANK_END_NESTED). One is a block if its stack has a function
 * for which the program waits, as for a clipboard; not if the user had a dialog open, or if nothing
 * is known. The others are counted here for `not_watched`. Sink thread, or a replay.
 */
#ifndef JANK_SESSION_NESTED_TURNS_H
#define JANK_SESSION_NESTED_TURNS_H

#include "model/block.h"
#include "model/unwatched.h"
#include <stdbool.h>

struct nested_turns;

struct nested_turns *nested_turns__new(void); /* NULL: out of memory */
void nested_turns__free(struct nested_turns *nested);

/*
 * False: the named block is no block, and is counted here. Always true for other blocks. Marks the
 * frames of the job, so that the handler is blamed. Above a limit, handlers are only counted as
 * left out.
 */
bool nested_turns__is_block(struct nested_turns *nested, struct block *block);

/* Adds an entry for each process and function. 0 or -ENOMEM. */
int nested_turns__list(const struct nested_turns *nested, struct unwatched_list *list);

#endif
