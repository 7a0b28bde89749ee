/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread pools of watched libuv programs. While all threads of a pool are at work, the loop is
 * idle, and each callback of fs, dns or crypto waits: no dispatch shows it. So their threads are
 * looked at some times a second, from outside. A thread that is in one job at two looks is the
 * reason to search the program's .symtab for the pool; from then on a look is one read of memory,
 * unless no thread of the pool is free. Needs a C library of which the place of a thread's tid is
 * known. Sink thread.
 */
#ifndef JANK_ENRICH_UV_POOLS_H
#define JANK_ENRICH_UV_POOLS_H

#include "model/unwatched.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

struct uv_pools;

/* Borrows sym. forgets: drop what was found of a process that ended. NULL: out of memory. */
struct uv_pools *uv_pools__new(struct symbolizer *sym, uint64_t threshold_ns, bool forgets);
void uv_pools__free(struct uv_pools *pools); /* accepts NULL */

/* The thread runs a loop of libuv. 0 or -ENOMEM. */
int uv_pools__add(struct uv_pools *pools, uint32_t pid, uint32_t tid);

/* The process has ended, or runs another program. 0 or -ENOMEM. */
int uv_pools__on_exit(struct uv_pools *pools, uint32_t pid);

/* Time of the next look (CLOCK_MONOTONIC); 0: nothing to look at. */
uint64_t uv_pools__due_ns(const struct uv_pools *pools);

void uv_pools__look(struct uv_pools *pools);

/*
 * Looks again; adds an entry for each pool that was exhausted longer than the threshold. 0 or
 * -ENOMEM.
 */
int uv_pools__list(struct uv_pools *pools, struct unwatched_list *list);

#endif
