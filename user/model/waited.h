/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a thread waited for: the raw values as the probes sent them, and what they stand for, as far as it could be
 * found out. Data only. What isn't known is NULL or 0, never guessed.
 *
 * Everything reachable is owned by the waited and freed by waited__free.
 */
#ifndef JANK_MODEL_WAITED_H
#define JANK_MODEL_WAITED_H

#include "bpf/jank_abi.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Another task, by role: waker, owner, peer, or preemptor (then with ns and prio). */
struct other_task {
	uint32_t pid, tid; /* 0: nobody */
	uint64_t ns;
	uint16_t prio; /* as on the wire (JANK_PRIO_OFFSET); 0: not known */
	char comm[JANK_COMM_SZ + 1];
	char *cgroup; /* its path, owned by whoever owns the task; NULL: not known */
};

struct waited {
	struct jank_rec_waited raw;
	char *target; /* what the descriptor is: "eventfd 12", "pipe 4711", "epoll"; NULL: not known */
	char *path;   /* of a file */
	char *device; /* that it is on: "vda", "tmpfs"; NULL: not known */
	char *peer; /* a socket's other end: "tcp 10.0.0.7:5432", "unix /run/x.sock"; NULL: none, or not known */
	struct other_task
		peer_task;	 /* there, on this machine; with a path: the file system's daemon */
	struct other_task owner; /* of the mutex; only a living thread of the process */
};

/*
 * Was the futex waited for as locks are? By the call: glibc's, musl's and Rust's mutexes sleep while the word is 2, PI mutexes by calls
 * of their own. False as well where the call's arguments are not known.
 */
bool waited__is_lock(const struct jank_rec_waited *raw);

struct waited *
waited__new(const struct jank_rec_waited *raw); /* nothing but that; NULL: out of memory */
struct waited *
waited__copy(const struct waited *waited);	   /* deep; NULL: out of memory, or waited is */
void waited__free(struct waited *waited);	   /* accepts NULL */
size_t waited__bytes(const struct waited *waited); /* of memory, about; accepts NULL */

#endif
