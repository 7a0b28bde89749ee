/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each record is one allocation with its variable parts, in two lists: of its thread, and of all
 * records by age. A wait object comes right before its span from the same CPU, so only a few are
 * pending at any time.
 */
#include "model/chain/thread_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/hash.h"

/*
 * --- Known tasks. The hash keeps insertion order: once half of the room is taken, a thread that is
 * seen again moves to the end. The least recently seen one is dropped.
 */

#define TASK_MAX 16384

struct entry {
	struct known_task task;
	UT_hash_handle hh;
};

struct known_tasks {
	struct entry *entries;
};

struct known_tasks *known_tasks__new(void)
{
	return calloc(1, sizeof(struct known_tasks));
}

void known_tasks__free(struct known_tasks *tasks)
{
	struct entry *entry, *next;

	if (!tasks)
		return;
	HASH_ITER (hh, tasks->entries, entry, next) {
		HASH_DEL(tasks->entries, entry);
		free(entry);
	}
	free(tasks);
}

static struct entry *known_tasks_find(const struct known_tasks *tasks, uint32_t tid)
{
	struct entry *entry;

	HASH_FIND(hh, tasks->entries, &tid, sizeof(tid), entry);
	return entry;
}

/*
 * Takes out of the hash what stands for the thread from now on: its entry, or the least recently
 * seen one of another thread.
 */
static struct entry *take(struct known_tasks *tasks, struct entry *own)
{
	struct entry *entry = own;

	if (!entry && HASH_COUNT(tasks->entries) >= TASK_MAX)
		entry = tasks->entries;
	if (!entry)
		return calloc(1, sizeof(*entry));
	HASH_DEL(tasks->entries, entry);
	return entry;
}

static void set_task(struct known_task *task, uint32_t tgid, uint32_t tid, const char *comm)
{
	if (task->tid != tid || task->tgid != tgid)
		*task = (struct known_task){ .tgid = tgid, .tid = tid };
	if (comm && *comm)
		memcpy(task->comm, comm, JANK_COMM_SZ);
}

int known_tasks__record(struct known_tasks *tasks, uint32_t tgid, uint32_t tid, const char *comm)
{
	struct entry *entry;

	if (!tid) /* the idle task: one for each CPU */
		return 0;
	entry = known_tasks_find(tasks, tid);
	if (entry && HASH_COUNT(tasks->entries) < TASK_MAX / 2) { /* none is dropped soon */
		set_task(&entry->task, tgid, tid, comm);
		return 0;
	}
	entry = take(tasks, entry);
	if (!entry)
		return -ENOMEM;
	set_task(&entry->task, tgid, tid, comm);
	HASH_ADD(hh, tasks->entries, task.tid, sizeof(tid), entry);
	return entry ? 0 : -ENOMEM;
}

const struct known_task *known_tasks__find(const struct known_tasks *tasks, uint32_t tid)
{
	const struct entry *entry = known_tasks_find(tasks, tid);

	return entry ? &entry->task : NULL;
}

#define PENDING_CNT 256
#define KEEP_NS	    (600 * NS_PER_SEC) /* older records belong to no open wait */
#define REST_NS	    (15 * NS_PER_SEC)  /* a record may be so late */
#define NEEDED_NS                                                                                  \
	(5 *                                                                                       \
	 NS_PER_SEC) /* dropping younger ones is a loss: at 1,000 blocks a second they last 8 s */

struct thread {
	uint32_t tid;
	struct other_record *newest;
	UT_hash_handle hh;
};

struct thread_history {
	struct losses *losses;
	struct known_tasks *known;
	struct thread *threads;
	struct other_record *oldest;
	size_t bytes, bytes_max;
	uint64_t newest_ns;
	struct jank_rec_waited pending[PENDING_CNT]; /* by the low bits of the tid; size 0: none */
};

struct thread_history *thread_history__new(size_t max, struct losses *losses)
{
	struct thread_history *history = calloc(1, sizeof(*history));

	if (!history)
		return NULL;
	history->losses = losses;
	history->bytes_max = max;
	history->known = known_tasks__new();
	if (history->known)
		return history;
	free(history);
	return NULL;
}

static struct thread *find(const struct thread_history *history, uint32_t tid)
{
	struct thread *thread;

	HASH_FIND(hh, history->threads, &tid, sizeof(tid), thread);
	return thread;
}

static void drop(struct thread_history *history, struct other_record *record)
{
	struct thread *thread = find(history, record->event.rec.hdr.tid);

	DL_DELETE2(thread->newest, record, newer, older);
	DL_DELETE2(history->oldest, record, age_prev, age_next);
	history->bytes -= record->bytes;
	free(record);
	if (thread->newest)
		return;
	HASH_DEL(history->threads, thread);
	history->bytes -= sizeof(*thread);
	free(thread);
}

void thread_history__free(struct thread_history *history)
{
	if (!history)
		return;
	while (history->oldest)
		drop(history, history->oldest);
	known_tasks__free(history->known);
	free(history);
}

size_t thread_history__bytes(const struct thread_history *history)
{
	return history->bytes;
}

static void drop_old(struct thread_history *history, uint64_t keep_ns)
{
	while (history->oldest) {
		uint64_t ts_ns = history->oldest->event.rec.hdr.ts_ns, age_ns;

		age_ns = history->newest_ns > ts_ns ? history->newest_ns - ts_ns : 0;
		if (history->bytes <= history->bytes_max && age_ns <= keep_ns)
			return;
		if (age_ns < NEEDED_NS)
			losses__add(history->losses, LOSS_EVIDENCE_CAPPED, 1);
		drop(history, history->oldest);
	}
}

void thread_history__rest(struct thread_history *history, uint64_t now_ns, uint64_t open_ns)
{
	if (now_ns > history->newest_ns)
		history->newest_ns = now_ns;
	drop_old(history, open_ns < KEEP_NS - REST_NS ? open_ns + REST_NS : KEEP_NS);
}

const struct other_record *thread_history__latest(const struct thread_history *history)
{
	return history->oldest ? history->oldest->age_prev : NULL; /* of the head: the tail */
}

static struct thread *thread_of(struct thread_history *history, uint32_t tid)
{
	struct thread *thread = find(history, tid);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	HASH_ADD(hh, history->threads, tid, sizeof(tid), thread);
	history->bytes += thread ? sizeof(*thread) : 0;
	return thread;
}

static struct jank_rec_waited *pending_of(struct thread_history *history, uint32_t tid)
{
	return &history->pending[tid % PENDING_CNT];
}

/* The span's wait object, or NULL; valid until the next record of that thread. */
static const struct jank_rec_waited *take_pending(struct thread_history *history,
						  const struct jank_rec_stack *rec)
{
	struct jank_rec_waited *pending = pending_of(history, rec->hdr.tid);

	if (!pending->hdr.size || pending->hdr.tid != rec->hdr.tid)
		return NULL;
	pending->hdr.size = 0;
	if (pending->t_ns != rec->t_ns ||
	    pending->dispatch_ns != (rec->hdr.kind == JANK_REC_OTHER ? 0 : rec->dispatch_ns))
		return NULL;
	return pending;
}

static void *put(char **at, const void *data, size_t len)
{
	void *ret = *at;

	if (len)
		memcpy(ret, data, len);
	*at += len;
	return ret;
}

/* Copies the event with its variable parts and its wait object. */
static struct other_record *new_record(const struct stack_event *event,
				       const struct jank_rec_waited *waited)
{
	size_t addresses_sz =
		((size_t)event->rec.kernel_cnt + event->rec.user_cnt) * sizeof(*event->addresses);
	size_t slices_sz = event->rec.slice_cnt * sizeof(*event->slices);
	size_t prios_sz = event->prios ? event->rec.slice_cnt * sizeof(*event->prios) : 0;
	size_t waited_sz = waited ? sizeof(*waited) : 0;
	size_t bytes =
		sizeof(struct other_record) + waited_sz + addresses_sz + slices_sz + prios_sz;
	struct other_record *record = calloc(1, bytes);
	char *at = (char *)(record + 1);

	if (!record)
		return NULL;
	record->bytes = bytes;
	record->event.rec = event->rec;
	if (waited)
		record->waited = put(&at, waited, waited_sz);
	record->event.addresses = put(&at, event->addresses, addresses_sz);
	record->event.slices = put(&at, event->slices, slices_sz);
	if (prios_sz)
		record->event.prios = put(&at, event->prios, prios_sz);
	return record;
}

/* A span that was sent open, for a hang, is sent again when it ends. */
static void drop_open_part(struct thread_history *history, const struct jank_rec_stack *rec)
{
	struct thread *thread = find(history, rec->hdr.tid);
	struct other_record *last = thread ? thread->newest : NULL;

	if (last && last->event.rec.hdr.flags & JANK_STACK_OPEN &&
	    last->event.rec.t_ns == rec->t_ns)
		drop(history, last);
}

static int record_tasks(struct thread_history *history, const struct stack_event *event)
{
	const struct jank_rec_stack *rec = &event->rec;
	const uint16_t with_waker = JANK_STACK_WAKER | JANK_STACK_WAKES;
	int res = known_tasks__record(history->known, rec->hdr.tgid, rec->hdr.tid, NULL);

	if (!res && rec->hdr.flags & with_waker)
		res = known_tasks__record(history->known, rec->waker.tgid, rec->waker.tid,
					  rec->waker.comm);
	for (unsigned i = 0; i < rec->slice_cnt && !res; i++)
		res = known_tasks__record(history->known, event->slices[i].tgid,
					  event->slices[i].tid, event->slices[i].comm);
	return res;
}

static int add_stack(struct thread_history *history, const struct stack_event *event)
{
	const struct jank_rec *hdr = &event->rec.hdr;
	struct other_record *record = new_record(event, take_pending(history, &event->rec));
	struct thread *thread;

	if (!record)
		return -ENOMEM;
	drop_open_part(history, &event->rec);
	thread = thread_of(history, hdr->tid);
	if (!thread) {
		free(record);
		return -ENOMEM;
	}
	DL_PREPEND2(thread->newest, record, newer, older);
	DL_APPEND2(history->oldest, record, age_prev, age_next);
	history->bytes += record->bytes;
	if (hdr->ts_ns > history->newest_ns)
		history->newest_ns = hdr->ts_ns;
	drop_old(history, KEEP_NS);
	return record_tasks(history, event);
}

int thread_history__event(struct thread_history *history, const struct event *event)
{
	const struct jank_rec *hdr = &event->hdr;

	switch (event->kind) {
	case JANK_REC_STACK:
	case JANK_REC_OTHER:
		return add_stack(history, &event->stack);
	case JANK_REC_WAITED:
		*pending_of(history, hdr->tid) = event->waited;
		return known_tasks__record(history->known, hdr->tgid, hdr->tid, event->waited.comm);
	case JANK_REC_BLOCK:
	case JANK_REC_HANG:
		return known_tasks__record(history->known, hdr->tgid, hdr->tid, event->block.comm);
	case JANK_REC_LOOP:
		return known_tasks__record(history->known, hdr->tgid, hdr->tid, event->loop.comm);
	}
	return 0;
}

const struct other_record *thread_history__newest(const struct thread_history *history,
						  uint32_t tid)
{
	const struct thread *thread = find(history, tid);

	return thread ? thread->newest : NULL;
}

bool thread_history__task(const struct thread_history *history, uint32_t tid,
			  struct other_task *ret)
{
	const struct known_task *task = known_tasks__find(history->known, tid);

	if (!task)
		return false;
	*ret = (struct other_task){ .pid = task->tgid, .tid = tid };
	memcpy(ret->comm, task->comm, sizeof(ret->comm));
	return true;
}
