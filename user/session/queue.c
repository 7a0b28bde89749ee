/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Items under a mutex, in one list for each user and one for items of no process; the sink thread
 * waits on a condition variable. The oldest item is taken, unless its user has had SLACK_NS more of
 * the reader's time than another user with waiting items.
 */
#include "session/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "bpf/jank_abi.h"

#define RESERVED 4 /* places for the end of a run only */
#define SLACK_NS (100 * NS_PER_MS)

struct node {
	struct item item;
	uint64_t seq; /* order of arrival */
	struct node *next;
};

/* Items in the order of their arrival. */
struct lane {
	struct node *first, **end;
};

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
	struct lane lane;   /* of a user */
	uint64_t served_ns; /* of a user: the reader's time, not below queue.floor_ns */
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
	struct node *nodes, *unused;
	struct lane common; /* items of no process */
	size_t cap, cnt;
	size_t bytes, max_bytes;
	uint64_t seq, busy_ns;
	uint64_t floor_ns;    /* where the account of a new user starts */
	struct share *shares; /* of holders with waiting items */
	struct contention contention[HOLDER_KIND_CNT];
	uint64_t got_ns; /* when the reader got its item; 0: it was of no user */
	uint32_t got_uid;
	void (*urge)(void *ctx);
	void *urge_ctx;
};

static void lane__init(struct lane *lane)
{
	*lane = (struct lane){ .end = &lane->first };
}

struct queue *queue__new(size_t max_items, size_t max_bytes)
{
	struct queue *queue = calloc(1, sizeof(*queue));
	pthread_condattr_t attr;

	if (!queue)
		return NULL;
	queue->cap = max_items + RESERVED;
	queue->max_bytes = max_bytes;
	queue->nodes = calloc(queue->cap, sizeof(*queue->nodes));
	if (!queue->nodes) {
		free(queue);
		return NULL;
	}
	for (size_t i = 0; i < queue->cap; i++) {
		queue->nodes[i].next = queue->unused;
		queue->unused = &queue->nodes[i];
	}
	lane__init(&queue->common);
	pthread_mutex_init(&queue->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->filled, &attr);
	pthread_condattr_destroy(&attr);
	return queue;
}

static struct share *find(const struct queue *queue, enum holder_kind kind, uint32_t id)
{
	const struct holder_key key = { kind, id };
	struct share *share;

	HASH_FIND(hh, queue->shares, &key, sizeof(key), share);
	return share;
}

static struct share *share_of(const struct queue *queue, enum holder_kind kind,
			      const struct item *item)
{
	return find(queue, kind, kind == HOLDER_USER ? item->uid : item->pid);
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
	free(queue->nodes);
	free(queue);
}

/* --- shares */

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
	case ITEM_INTERVAL:
	case ITEM_RAW:
	case ITEM_LOOK: /* a few, and of no user that is known */
	case ITEM_MAIN:
	case ITEM_UNWATCHED:
	case ITEM_OPTIONS:
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

	return share && (jank_share__is_over(share->cnt, places) ||
			 jank_share__is_over(share->bytes, bytes));
}

static enum queue_room room_for(const struct queue *queue, const struct item *item)
{
	if (item->kind == ITEM_STOP || item->kind == ITEM_SUMMARY)
		return queue->cnt < queue->cap ? QUEUE_ROOM : QUEUE_FULL;
	if (queue->cnt >= queue->cap - RESERVED || item->size > queue->max_bytes - queue->bytes)
		return QUEUE_FULL;
	if (is_shared(item) &&
	    (is_over(queue, HOLDER_USER, item) || is_over(queue, HOLDER_PROCESS, item)))
		return QUEUE_OVER_SHARE;
	return QUEUE_ROOM;
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
	share->served_ns = queue->floor_ns;
	lane__init(&share->lane);
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

/* --- order */

static void append(struct queue *queue, const struct item *item)
{
	struct lane *lane =
		is_shared(item) ? &share_of(queue, HOLDER_USER, item)->lane : &queue->common;
	struct node *node = queue->unused;

	queue->unused = node->next;
	*node = (struct node){ .item = *item, .seq = queue->seq++ };
	*lane->end = node;
	lane->end = &node->next;
	queue->cnt++;
	queue->bytes += item->size;
}

static struct item take_first(struct queue *queue, struct lane *lane)
{
	struct node *node = lane->first;
	struct item item = node->item;

	lane->first = node->next;
	if (!lane->first)
		lane->end = &lane->first;
	node->next = queue->unused;
	queue->unused = node;
	queue->cnt--;
	queue->bytes -= item.size;
	return item;
}

/* The user whose item is next. NULL: the next item belongs to no process. */
static struct share *next_user(struct queue *queue)
{
	uint64_t limit = queue->common.first ? queue->common.first->seq : UINT64_MAX;
	struct share *oldest = NULL, *least = NULL, *share;

	for (share = queue->shares; share; share = share->hh.next) {
		if (!share->lane.first || share->lane.first->seq > limit)
			continue;
		if (!oldest || share->lane.first->seq < oldest->lane.first->seq)
			oldest = share;
		if (!least || share->served_ns < least->served_ns)
			least = share;
	}
	if (!oldest)
		return NULL;
	queue->floor_ns = least->served_ns;
	return oldest->served_ns > least->served_ns + SLACK_NS ? least : oldest;
}

/* The reader has done the item that it got last: its time counts for the item's user. */
static void account(struct queue *queue)
{
	struct share *share = queue->got_ns ? find(queue, HOLDER_USER, queue->got_uid) : NULL;

	if (share)
		share->served_ns += clock__mono_ns() - queue->got_ns;
	queue->got_ns = 0;
}

static struct item take_next(struct queue *queue)
{
	struct share *user = next_user(queue);
	struct item item = take_first(queue, user ? &user->lane : &queue->common);

	if (!user)
		return item;
	queue->got_ns = clock__mono_ns();
	queue->got_uid = item.uid;
	take_from_share(queue, HOLDER_PROCESS, &item);
	take_from_share(queue, HOLDER_USER, &item);
	return item;
}

void queue__on_contention(struct queue *queue, void (*urge)(void *ctx), void *ctx)
{
	queue->urge = urge;
	queue->urge_ctx = ctx;
}

static void lock_urgently(struct queue *queue)
{
	if (!pthread_mutex_trylock(&queue->lock))
		return;
	if (queue->urge)
		queue->urge(queue->urge_ctx);
	pthread_mutex_lock(&queue->lock);
}

enum queue_room queue__put(struct queue *queue, const struct item *item)
{
	enum queue_room room;

	lock_urgently(queue);
	room = room_for(queue, item);
	if (room == QUEUE_ROOM && !add_to_shares(queue, item))
		room = QUEUE_FULL;
	if (room == QUEUE_ROOM) {
		append(queue, item);
		pthread_cond_signal(&queue->filled);
	}
	pthread_mutex_unlock(&queue->lock);
	return room;
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

	lock_urgently(queue);
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
	account(queue);
	if (!queue->cnt)
		queue->busy_ns = 0;
	while (!queue->cnt && wait_until(queue, until_ns))
		;
	got = queue->cnt;
	if (got) {
		if (!queue->busy_ns)
			queue->busy_ns = clock__mono_ns();
		*ret = take_next(queue);
	}
	pthread_mutex_unlock(&queue->lock);
	return got;
}
