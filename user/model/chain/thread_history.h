/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of any thread lately, whether its loop is traced or not: whoever ends a dispatch's
 * wait may be any of them, and that is known only when the wait is over. Kept by thread, within a
 * bound of memory; the oldest go first.
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

#define OTHERS_BYTES_MAX (8u << 20)

struct thread_history;

/*
 * A STACK or OTHER record: a span off the CPU, a tick of the sampler, or a wake-up
 * (JANK_STACK_WAKES).
 */
struct other_record {
	struct stack_event event;	      /* its pointers are into memory of the record's own */
	const struct jank_rec_waited *waited; /* what a span waited for; NULL: not known */
	struct other_record *older, *newer;   /* of the same thread id; older is NULL at the end */
	struct other_record *age_prev, *age_next;
	size_t bytes;
};

/* max: of memory, in bytes. NULL: out of memory. */
struct thread_history *thread_history__new(size_t max, struct losses *losses);
void thread_history__free(struct thread_history *others); /* accepts NULL */

/*
 * Takes an event in; of kinds that tell nothing of a thread's doings at most its name. 0 or
 * -ENOMEM.
 */
int thread_history__event(struct thread_history *others, const struct event *event);

/*
 * A thread's records, the last that came first; NULL: none. A number may have been given anew:
 * hdr.tgid tells. Borrowed until the next event.
 */
const struct other_record *thread_history__newest(const struct thread_history *others,
						  uint32_t tid);

/* Whose the thread is and what it was called last. False: no record told. */
bool thread_history__task(const struct thread_history *others, uint32_t tid,
			  struct other_task *ret);

size_t thread_history__bytes(const struct thread_history *others);

/*
 * Names of threads by id, as far as some record told them: the last ones seen, of a bounded number
 * of threads.
 */

struct known_tasks;

struct known_task {
	uint32_t tgid, tid;
	char comm[JANK_COMM_SZ + 1]; /* empty: not known */
};

struct known_tasks *known_tasks__new(void);	   /* NULL: out of memory */
void known_tasks__free(struct known_tasks *tasks); /* accepts NULL */

/* A thread was seen; comm: of JANK_COMM_SZ bytes, NULL: not told. 0 or -ENOMEM. */
int known_tasks__record(struct known_tasks *tasks, uint32_t tgid, uint32_t tid, const char *comm);

/* Borrowed until the next note; NULL: not known. */
const struct known_task *known_tasks__find(const struct known_tasks *tasks, uint32_t tid);

#endif
