/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way from the intake thread to the sink thread: bounded, and never waited for by the one
 * who puts in. What finds no room is the caller's loss to count.
 */
#ifndef JANK_SESSION_QUEUE_H
#define JANK_SESSION_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

enum item_kind {
	ITEM_BLOCK,
	ITEM_SUMMARY,
	ITEM_RAW,
	ITEM_PROCESS,
	ITEM_MAIN,
	ITEM_MAP,
	ITEM_WAIT,
	ITEM_UNWATCHED,
	ITEM_COPY,
	ITEM_PROCESS_GONE,
	ITEM_STOP,
};

struct item {
	enum item_kind kind;
	void *data; /* owned by whoever holds the item; see sink_thread.h for its type */
	size_t size;
	uint32_t pid;
};

/*
 * max_items and max_bytes (the sum of size) bound what waits. Once more than one process was seen,
 * blocks and copies find room only while their process has at most three times what is free, of
 * either: it alone fills three quarters, and others still find room. NULL: out of memory.
 */
struct queue *queue__new(size_t max_items, size_t max_bytes);
void queue__free(struct queue *queue); /* accepts NULL; what still waits leaks: drain it first */

/* False: full, the item stays the caller's. ITEM_STOP and ITEM_SUMMARY always find room. */
bool queue__put(struct queue *queue, const struct item *item);

size_t queue__bytes(struct queue *queue); /* that wait */

uint64_t queue__busy_ns(
	struct
	queue *queue); /* since then its reader has not had to wait for an item (CLOCK_MONOTONIC); 0: it waits */

/* Waits for an item until then (CLOCK_MONOTONIC; 0: for ever). False: none came. */
bool queue__get(struct queue *queue, uint64_t until_ns, struct item *ret);

#endif
