/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known of any thread lately, whether its loop is traced or not: whoever ends a dispatch's wait may be
 * any of them, and that is known only when the wait is over. Kept by thread, within a bound of memory; the oldest go first.
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

struct others;

/* A STACK or OTHER record: a span off the CPU, a tick of the sampler, or a wake-up (JANK_STACK_WAKES). */
struct other_record {
	struct stack_event event;	      /* its pointers are into memory of the record's own */
	const struct jank_rec_waited *waited; /* what a span waited for; NULL: not known */
	struct other_record *older, *newer;   /* of the same thread id; older is NULL at the end */
	struct other_record *age_prev, *age_next;
	size_t bytes;
};

/* max: of memory, in bytes. NULL: out of memory. */
struct others *others__new(size_t max, struct losses *losses);
void others__free(struct others *others); /* accepts NULL */

/* Takes an event in; of kinds that tell nothing of a thread's doings at most its name. 0 or -ENOMEM. */
int others__event(struct others *others, const struct event *event);

/*
 * A thread's records, the last that came first; NULL: none. A number may have been given anew: hdr.tgid tells. Borrowed
 * until the next event.
 */
const struct other_record *others__newest(const struct others *others, uint32_t tid);

/* Whose the thread is and what it was called last. False: no record told. */
bool others__task(const struct others *others, uint32_t tid, struct other_task *ret);

size_t others__bytes(const struct others *others);

/* Names of threads by id, as far as some record told them: the last ones seen, of a bounded number of threads. */

struct known_tasks;

struct known_task {
	uint32_t tgid, tid;
	char comm[JANK_COMM_SZ + 1]; /* empty: not known */
};

struct known_tasks *known_tasks__new(void);	   /* NULL: out of memory */
void known_tasks__free(struct known_tasks *tasks); /* accepts NULL */

/* A thread was seen; comm: of JANK_COMM_SZ bytes, NULL: not told. 0 or -ENOMEM. */
int known_tasks__note(struct known_tasks *tasks, uint32_t tgid, uint32_t tid, const char *comm);

/* Borrowed until the next note; NULL: not known. */
const struct known_task *known_tasks__find(const struct known_tasks *tasks, uint32_t tid);

#endif
