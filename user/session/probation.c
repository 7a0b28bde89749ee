/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list ordered by age: few threads are on probation at a time, and few of their blocks fit. */
#include "session/sink_thread.h"

#include <stdbool.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/clock.h"

#define HOLD_NS	  (60 * NS_PER_SEC)
#define BYTES_MAX (1 << 20)

struct held {
	struct block *block;
	uint64_t since_ns;
	size_t bytes;
	struct held *prev, *next;
};

struct probation {
	probation_fn report, drop;
	void *ctx;
	struct held *oldest;
	size_t bytes;
};

struct probation *probation__new(probation_fn report, probation_fn drop, void *ctx)
{
	struct probation *probation = calloc(1, sizeof(*probation));

	if (!probation)
		return NULL;
	probation->report = report;
	probation->drop = drop;
	probation->ctx = ctx;
	return probation;
}

static void release(struct probation *probation, struct held *held, probation_fn fn)
{
	struct block *block = held->block;

	DL_DELETE(probation->oldest, held);
	probation->bytes -= held->bytes;
	free(held);
	fn(probation->ctx, block);
}

static void make_room(struct probation *probation, uint64_t now_ns)
{
	struct held *oldest;

	while ((oldest = probation->oldest) &&
	       (probation->bytes > BYTES_MAX || now_ns > oldest->since_ns + HOLD_NS))
		release(probation, oldest, probation->drop);
}

void probation__end(struct probation *probation)
{
	while (probation->oldest)
		release(probation, probation->oldest, probation->drop);
}

void probation__free(struct probation *probation)
{
	if (probation)
		probation__end(probation);
	free(probation);
}

void probation__hold(struct probation *probation, struct block *block, uint64_t now_ns)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held) {
		probation->drop(probation->ctx, block);
		return;
	}
	held->block = block;
	held->since_ns = now_ns;
	held->bytes = block__bytes(block);
	probation->bytes += held->bytes;
	DL_APPEND(probation->oldest, held);
	make_room(probation, now_ns);
}

void probation__confirm(struct probation *probation, uint32_t tid, uint32_t trial, uint64_t now_ns)
{
	struct held *held, *next;

	make_room(probation, now_ns);
	DL_FOREACH_SAFE (probation->oldest, held, next)
		if (held->block->tid == tid)
			release(probation, held,
				held->block->trial == trial ? probation->report : probation->drop);
}

void probation__on_exit(struct probation *probation, uint32_t pid)
{
	struct held *held, *next;

	DL_FOREACH_SAFE (probation->oldest, held, next)
		if (held->block->pid == pid)
			release(probation, held, probation->drop);
}
