/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Message that a slow dispatch handled, read from the live process. The catalogue gives the meaning
 * of a mark's values, the symbolizer their names, /proc the ready descriptors. Runs on the sink
 * thread.
 */
#ifndef JANK_ENRICH_READ_MESSAGE_H
#define JANK_ENRICH_READ_MESSAGE_H

#include "catalogue/catalogue.h"
#include "model/block.h"
#include "symbol/names/symbolize.h"

struct message_names {
	struct symbolizer *symbolizer;
	const struct catalogue *catalogue; /* NULL: the values of a mark stay unknown */
};

/* Fills the block's message, if any. names: struct message_names. Returns 0 or -ENOMEM. */
int read_message__fill(void *names, struct block *block);

#endif
