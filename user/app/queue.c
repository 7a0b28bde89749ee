/* SPDX-License-Identifier: GPL-2.0 */
/* A ring of items under a mutex; the sink thread sleeps on a condition. */
#include "app/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define RESERVED 4 /* places only for the end of a run */

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct item *items;
	size_t cap, head, cnt;
	size_t bytes, max_bytes;
};

struct queue *queue__new(size_t max_items, size_t max_bytes)
{
	struct queue *queue = calloc(1, sizeof(*queue));
	pthread_condattr_t attr;

	if (!queue)
		return NULL;
	queue->cap = max_items + RESERVED;
	queue->max_bytes = max_bytes;
	queue->items = calloc(queue->cap, sizeof(*queue->items));
	if (!queue->items) {
		free(queue);
		return NULL;
	}
	pthread_mutex_init(&queue->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->filled, &attr);
	pthread_condattr_destroy(&attr);
	return queue;
}

void queue__free(struct queue *queue)
{
	if (!queue)
		return;
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->filled);
	free(queue->items);
	free(queue);
}

static bool has_room(const struct queue *queue, const struct item *item)
{
	if (item->kind == ITEM_STOP || item->kind == ITEM_SUMMARY)
		return queue->cnt < queue->cap;
	return queue->cnt < queue->cap - RESERVED && item->size <= queue->max_bytes - queue->bytes;
}

bool queue__put(struct queue *queue, const struct item *item)
{
	bool room;

	pthread_mutex_lock(&queue->lock);
	room = has_room(queue, item);
	if (room) {
		queue->items[(queue->head + queue->cnt++) % queue->cap] = *item;
		queue->bytes += item->size;
		pthread_cond_signal(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
	return room;
}

/* False: it is as late. */
static bool wait_until(struct queue *queue, uint64_t until_ns)
{
	const struct timespec at = { .tv_sec = until_ns / NS_PER_SEC,
				     .tv_nsec = until_ns % NS_PER_SEC };

	if (until_ns)
		return !pthread_cond_timedwait(&queue->filled, &queue->lock, &at);
	return !pthread_cond_wait(&queue->filled, &queue->lock);
}

bool queue__get(struct queue *queue, uint64_t until_ns, struct item *ret)
{
	bool got;

	pthread_mutex_lock(&queue->lock);
	while (!queue->cnt && wait_until(queue, until_ns))
		;
	got = queue->cnt;
	if (got) {
		*ret = queue->items[queue->head];
		queue->head = (queue->head + 1) % queue->cap;
		queue->cnt--;
		queue->bytes -= ret->size;
	}
	pthread_mutex_unlock(&queue->lock);
	return got;
}
