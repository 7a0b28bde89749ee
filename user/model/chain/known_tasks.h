/* SPDX-License-Identifier: GPL-2.0 */
/* Names of threads by id, as far as some record told them: the last ones seen, of a bounded number of threads. */
#ifndef JANK_MODEL_CHAIN_KNOWN_TASKS_H
#define JANK_MODEL_CHAIN_KNOWN_TASKS_H

#include "bpf/jank_abi.h"
#include <stdint.h>

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
