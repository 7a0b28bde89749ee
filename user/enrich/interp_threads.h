/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpreters' threads: found by the symbolizer, told to the probes, which read their frames. The
 * sink thread's.
 */
#ifndef JANK_ENRICH_INTERP_THREADS_H
#define JANK_ENRICH_INTERP_THREADS_H

#include "probes/bpf_fds.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

struct interp_threads;

/* Both borrowed. NULL: out of memory. */
struct interp_threads *interp_threads__new(struct interp_bpf_fds *maps, struct symbolizer *sym);
void interp_threads__free(struct interp_threads *scripts); /* accepts NULL */

/*
 * The process has a thread that the probes should know of, if it runs an interpreter: one of a
 * loop, or that was waited for. 0 or -errno: -E2BIG when there are too many threads.
 */
int interp_threads__update(struct interp_threads *scripts, uint32_t pid, uint32_t tid);

/* Does it run an interpreter whose frames are read? As far as it was considered. */
bool interp_threads__reads(struct interp_threads *scripts, uint32_t pid);

/* The process ended, or has replaced its program. */
void interp_threads__on_exit(struct interp_threads *scripts, uint32_t pid);

/* When new threads are to be looked for (CLOCK_MONOTONIC); 0: no process runs an interpreter. */
uint64_t interp_threads__due_ns(const struct interp_threads *scripts);

/* Does so: the probes are told of those that came since. 0 or -errno, as above. */
int interp_threads__look(struct interp_threads *scripts);

#endif
