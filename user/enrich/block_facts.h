/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of a block that only the live machine has. They are read on the sink thread, so that the
 * reader of the ring never waits for a file.
 */
#ifndef JANK_ENRICH_BLOCK_FACTS_H
#define JANK_ENRICH_BLOCK_FACTS_H

#include "catalogue/catalogue.h"
#include "model/block.h"
#include "symbol/names/symbolize.h"
#include <stdint.h>

/*
 * Fills the facts and preemptors of the block and of its chain: the speed of its CPU, the cgroups
 * of the tasks that preempted it. Returns 0 or -ENOMEM.
 */
int block_facts__fill(struct block *block);

/*
 * Returns the CPU on which the sampler took most ticks; false if there were no ticks. Exported for
 * tests.
 */
bool block_facts__cpu(const struct block *block, uint32_t *ret);

/*
 * --- Message that a slow dispatch handled, read from the live process. The catalogue gives the
 * meaning of a mark's values, the symbolizer their names, /proc the ready descriptors. Runs on the
 * sink thread.
 */

struct message_names {
	struct symbolizer *symbolizer;
	const struct catalogue *catalogue; /* NULL: the values of a mark stay unknown */
};

/* Fills the block's message, if any. names: struct message_names. Returns 0 or -ENOMEM. */
int message_names__fill(void *names, struct block *block);

/*
 * --- Names of wait objects, read on the live machine: files, devices, peers, the owner of a mutex,
 * and the processes of the chain. Runs on the sink thread soon after the block, before descriptors
 * are closed and reused.
 */

/*
 * Names what thread tid of process pid waited for. Unknown parts stay unknown. Returns 0 or
 * -ENOMEM.
 */
int wait_object_names__fill(struct wait_object *waited, uint32_t pid, uint32_t tid);

/* Sets the process name of the link. Returns 0 or -ENOMEM. */
int wait_object_names__link(struct link *link);

/* --- all waits of a block */

/*
 * Names the waits of the block's spans and of its chain's links, and the links' processes. Finds
 * deadlocks. ctx: the symbolizer; NULL: none. Returns 0 or -ENOMEM.
 */
int block_waits__name(void *ctx, struct block *block);

/*
 * --- Hints on how to get missing names in stacks: for JIT code and for stripped files. Each hint
 * is printed once.
 */

#define NAME_HINT_MAX 16 /* files; others get no hint */

struct name_hint {
	char *reported[NAME_HINT_MAX]; /* paths */
	unsigned reported_cnt;
};

/* Examines a judged block with named stacks; prints a warning if names are missing. */
void name_hint__look(struct name_hint *hint, const struct block *block);
void name_hint__free(struct name_hint *hint); /* leaves it empty */

#endif
