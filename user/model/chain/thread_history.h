/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recent records of all threads, with traced loops or not. Any thread may end a dispatch's wait,
 * and it is known only after the wait which one. Stored by thread, with a memory limit; the oldest
 * records are dropped first.
 */
#ifndef JANK_MODEL_CHAIN_THREAD_HISTORY_H
#define JANK_MODEL_CHAIN_THREAD_HISTORY_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include "model/event.h"
#include "model/loss.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_BYTES_MAX (8u << 20)

struct thread_history;

/*
 * A STACK or OTHER record: a span off the CPU, a tick of the sampler, or a wake-up
 * (JANK_STACK_WAKES).
 */
struct other_record {
	struct stack_event event;	      /* pointers into this record's own memory */
	const struct jank_rec_waited *waited; /* object of the span's wait; NULL: not known */
	struct other_record *older, *newer;   /* same thread id; older is NULL at the end */
	struct other_record *age_prev, *age_next;
	size_t bytes;
};

/* max: memory limit in bytes. NULL: out of memory. */
struct thread_history *thread_history__new(size_t max, struct losses *losses);
void thread_history__free(struct thread_history *history); /* accepts NULL */

/* Adds an event. Kinds without a stack add at most the thread's name. 0 or -ENOMEM. */
int thread_history__event(struct thread_history *history, const struct event *event);

/*
 * At now_ns (CLOCK_MONOTONIC) no open dispatch has lasted for longer than open_ns: drops what is
 * 15 s older. Without such a call records are kept for ten minutes.
 */
void thread_history__rest(struct thread_history *history, uint64_t now_ns, uint64_t open_ns);

/*
 * The records of a thread, the latest first; NULL: none. The kernel may have reused the tid:
 * compare hdr.tgid. Borrowed until the next event.
 */
const struct other_record *thread_history__newest(const struct thread_history *history,
						  uint32_t tid);

/* The latest record of all threads; age_prev leads to older ones. NULL: none. Borrowed likewise. */
const struct other_record *thread_history__latest(const struct thread_history *history);

/* The process and the last known name of a thread. False: no record of this thread. */
bool thread_history__task(const struct thread_history *history, uint32_t tid,
			  struct other_task *ret);

size_t thread_history__bytes(const struct thread_history *history);

/* --- Names of threads by id, the last ones seen in any record, for a limited number of threads. */

struct known_tasks;

struct known_task {
	uint32_t tgid, tid;
	char comm[JANK_COMM_SZ + 1]; /* empty: not known */
};

struct known_tasks *known_tasks__new(void);	   /* NULL: out of memory */
void known_tasks__free(struct known_tasks *tasks); /* accepts NULL */

/* Records a thread; comm has JANK_COMM_SZ bytes, or is NULL if not known. 0 or -ENOMEM. */
int known_tasks__record(struct known_tasks *tasks, uint32_t tgid, uint32_t tid, const char *comm);

/* Borrowed until the next known_tasks__record; NULL: not known. */
const struct known_task *known_tasks__find(const struct known_tasks *tasks, uint32_t tid);

#endif
