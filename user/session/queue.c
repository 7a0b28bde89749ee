/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring of items under a mutex; the sink thread waits on a condition variable. */
#include "session/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <uthash.h>

#include "base/clock.h"

#define RESERVED 4 /* places for the end of a run only */
#define SHARE	 3 /* max. ratio of a share to the free room: 3/4 when alone */

enum holder_kind {
	HOLDER_PROCESS,
	HOLDER_USER,
	HOLDER_KIND_CNT,
};

struct holder_key {
	uint32_t kind; /* HOLDER_* */
	uint32_t id;   /* pid or uid */
};

/* Waiting items of a process or of a user. */
struct share {
	struct holder_key key;
	size_t cnt, bytes;
	UT_hash_handle hh;
};

/* Contention: items of several holders of this kind came. */
struct contention {
	uint32_t first;
	bool any, many;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct item *items;
	size_t cap, head, cnt;
	size_t bytes, max_bytes;
	uint64_t busy_ns;
	struct share *shares; /* of holders with waiting items */
	struct contention contention[HOLDER_KIND_CNT];
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

static struct share *share_of(const struct queue *queue, enum holder_kind kind,
			      const struct item *item)
{
	const struct holder_key key = { kind, kind == HOLDER_USER ? item->uid : item->pid };
	struct share *share;

	HASH_FIND(hh, queue->shares, &key, sizeof(key), share);
	return share;
}

static void drop_share(struct queue *queue, struct share *share)
{
	HASH_DEL(queue->shares, share);
	free(share);
}

void queue__free(struct queue *queue)
{
	struct share *share, *next;

	if (!queue)
		return;
	HASH_ITER (hh, queue->shares, share, next)
		drop_share(queue, share);
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->filled);
	free(queue->items);
	free(queue);
}

/* A traced process determines the number of these items. */
static bool is_shared(const struct item *item)
{
	switch (item->kind) {
	case ITEM_BLOCK:
	case ITEM_COPY:
	case ITEM_WAIT:
	case ITEM_PROCESS:
	case ITEM_MAP:
	case ITEM_PROCESS_GONE:
		return true;
	case ITEM_SUMMARY:
	case ITEM_RAW:
	case ITEM_MAIN:
	case ITEM_UNWATCHED:
	case ITEM_STOP:
		break;
	}
	return false;
}

static bool is_over(const struct queue *queue, enum holder_kind kind, const struct item *item)
{
	size_t places = queue->cap - RESERVED - queue->cnt;
	size_t bytes = queue->max_bytes - queue->bytes;
	const struct share *share =
		queue->contention[kind].many ? share_of(queue, kind, item) : NULL;

	return share && (share->cnt / SHARE > places || share->bytes / SHARE > bytes);
}

static bool is_over_any(const struct queue *queue, const struct item *item)
{
	return is_shared(item) &&
	       (is_over(queue, HOLDER_USER, item) || is_over(queue, HOLDER_PROCESS, item));
}

static bool is_full(const struct queue *queue, const struct item *item)
{
	return queue->cnt >= queue->cap - RESERVED || item->size > queue->max_bytes - queue->bytes;
}

static bool has_room(const struct queue *queue, const struct item *item)
{
	if (item->kind == ITEM_STOP || item->kind == ITEM_SUMMARY)
		return queue->cnt < queue->cap;
	return !is_full(queue, item) && !is_over_any(queue, item);
}

/* NULL: out of memory. */
static struct share *make_share(struct queue *queue, enum holder_kind kind, const struct item *item)
{
	struct share *share = share_of(queue, kind, item);

	if (share)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->key.kind = kind;
	share->key.id = kind == HOLDER_USER ? item->uid : item->pid;
	HASH_ADD(hh, queue->shares, key, sizeof(share->key), share);
	return share;
}

static void take_from_share(struct queue *queue, enum holder_kind kind, const struct item *item)
{
	struct share *share = share_of(queue, kind, item);

	if (!share)
		return;
	share->bytes -= item->size;
	if (!--share->cnt)
		drop_share(queue, share);
}

static bool add_to_share(struct queue *queue, enum holder_kind kind, const struct item *item)
{
	struct share *share = make_share(queue, kind, item);
	struct contention *contention = &queue->contention[kind];

	if (!share)
		return false;
	share->cnt++;
	share->bytes += item->size;
	if (!contention->any)
		contention->first = share->key.id;
	contention->any = true;
	contention->many |= contention->first != share->key.id;
	return true;
}

/* False: out of memory. */
static bool add_to_shares(struct queue *queue, const struct item *item)
{
	if (!is_shared(item))
		return true;
	if (!add_to_share(queue, HOLDER_PROCESS, item))
		return false;
	if (add_to_share(queue, HOLDER_USER, item))
		return true;
	take_from_share(queue, HOLDER_PROCESS, item);
	return false;
}

static void take_from_shares(struct queue *queue, const struct item *item)
{
	if (!is_shared(item))
		return;
	take_from_share(queue, HOLDER_PROCESS, item);
	take_from_share(queue, HOLDER_USER, item);
}

bool queue__put(struct queue *queue, const struct item *item)
{
	bool room;

	pthread_mutex_lock(&queue->lock);
	room = has_room(queue, item) && add_to_shares(queue, item);
	if (room) {
		queue->items[(queue->head + queue->cnt++) % queue->cap] = *item;
		queue->bytes += item->size;
		pthread_cond_signal(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
	return room;
}

bool queue__is_over_share(struct queue *queue, const struct item *item)
{
	bool over;

	pthread_mutex_lock(&queue->lock);
	over = !is_full(queue, item) && is_over_any(queue, item);
	pthread_mutex_unlock(&queue->lock);
	return over;
}

size_t queue__bytes(struct queue *queue)
{
	size_t bytes;

	pthread_mutex_lock(&queue->lock);
	bytes = queue->bytes;
	pthread_mutex_unlock(&queue->lock);
	return bytes;
}

uint64_t queue__busy_ns(struct queue *queue)
{
	uint64_t ns;

	pthread_mutex_lock(&queue->lock);
	ns = queue->busy_ns;
	pthread_mutex_unlock(&queue->lock);
	return ns;
}

/* False: timeout. */
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
	if (!queue->cnt)
		queue->busy_ns = 0;
	while (!queue->cnt && wait_until(queue, until_ns))
		;
	got = queue->cnt;
	if (got) {
		if (!queue->busy_ns)
			queue->busy_ns = clock__mono_ns();
		*ret = queue->items[queue->head];
		queue->head = (queue->head + 1) % queue->cap;
		queue->cnt--;
		queue->bytes -= ret->size;
		take_from_shares(queue, ret);
	}
	pthread_mutex_unlock(&queue->lock);
	return got;
}
