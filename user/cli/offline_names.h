/* SPDX-License-Identifier: GPL-2.0 */
/* Names for a journal's frames that were recorded without one, from programs and debug files that are found by build id. */
#ifndef JANK_CLI_OFFLINE_NAMES_H
#define JANK_CLI_OFFLINE_NAMES_H

#include "model/block.h"
#include "symbol/modules/offline.h"

struct offline_names {
	struct offline *offline; /* borrowed; its strings are the frames' */
	uint64_t nameless_cnt, named_cnt;
};

/* Puts names, lines and inlined functions into a stack's frames that have a build id and no name. 0 or -ENOMEM. */
int offline_names__fill(struct offline_names *names, struct stack *stack);

#endif
