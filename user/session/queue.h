/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounded queue from the intake thread to the sink thread. queue__put never waits; the caller
 * counts what finds no room as a loss. Items come out in the order of their arrival, except that a
 * user who keeps the reader busy waits for others: items of one user stay in order, and none
 * overtakes an earlier item of no process.
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
	ITEM_INTERVAL,
	ITEM_RAW,
	ITEM_PROCESS,
	ITEM_MAIN,
	ITEM_MAP,
	ITEM_WAIT,
	ITEM_UNWATCHED,
	ITEM_COPY,
	ITEM_LOOK,
	ITEM_PROCESS_GONE,
	ITEM_OPTIONS,
	ITEM_STOP,
};

struct item {
	enum item_kind kind;
	void *data; /* owned by the holder of the item; for its type see sink_thread.h */
	size_t size;
	uint32_t pid;
	uint32_t uid; /* of the process; UID_UNKNOWN counts as one user */
};

/*
 * max_items and max_bytes (sum of size) bound the waiting items. Once there is more than one
 * process, items of a process are refused when their process holds more than three times the free
 * room, of either bound; the same for users. One alone then fills at most three quarters, and
 * others still find room. NULL: out of memory.
 */
struct queue *queue__new(size_t max_items, size_t max_bytes);
void queue__free(struct queue *queue); /* accepts NULL; leaks waiting items: drain it first */

enum queue_room {
	QUEUE_ROOM,
	QUEUE_FULL,
	QUEUE_OVER_SHARE, /* the process or the user holds too much */
};

/* Unless it had room, the caller keeps the item. ITEM_STOP and ITEM_SUMMARY always find room. */
enum queue_room queue__put(struct queue *queue, const struct item *item);

/*
 * Calls urge before queue__put or queue__busy_ns wait for the lock: the reader, whose priority is
 * low, may have lost the CPU within it. Any thread that calls these. Once, before they are called.
 */
void queue__on_contention(struct queue *queue, void (*urge)(void *ctx), void *ctx);

size_t queue__bytes(struct queue *queue); /* of the waiting items */

uint64_t
queue__busy_ns(struct queue *queue); /* reader busy since then (CLOCK_MONOTONIC); 0: idle */

/* Waits for an item until until_ns (CLOCK_MONOTONIC; 0: for ever). False: timeout. */
bool queue__get(struct queue *queue, uint64_t until_ns, struct item *ret);

#endif
