/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a slow dispatch handled, found out in the living process: by the catalogue what a mark's
 * values mean, by the symbolizer their names, by /proc what was ready. On the sink thread.
 */
#ifndef JANK_ENRICH_READ_MESSAGE_H
#define JANK_ENRICH_READ_MESSAGE_H

#include "catalogue/catalogue.h"
#include "model/block.h"
#include "symbol/names/symbolize.h"

struct message_names {
	struct symbolizer *symbolizer;
	const struct catalogue *catalogue; /* NULL: a mark's values stay unknown */
};

/* Fills the block's message, if it has one. names: struct message_names. 0 or -ENOMEM. */
int read_message__fill(void *names, struct block *block);

#endif
