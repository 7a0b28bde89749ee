/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of the interpreter threads. The symbolizer finds them; this module enters them into the BPF
 * maps, and the probes then read their frames. Used on the sink thread only.
 */
#ifndef JANK_ENRICH_INTERP_THREADS_H
#define JANK_ENRICH_INTERP_THREADS_H

#include "probes/bpf_fds.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

struct interp_threads;

/* Borrows both. NULL: out of memory. */
struct interp_threads *interp_threads__new(struct interp_bpf_fds *maps, struct symbolizer *sym);
void interp_threads__free(struct interp_threads *scripts); /* accepts NULL */

/*
 * Enters a thread of the process if the process runs an interpreter. The thread has a loop, or a
 * traced thread waited for it. Returns 0 or -errno; -E2BIG: too many threads.
 */
int interp_threads__update(struct interp_threads *scripts, uint32_t pid, uint32_t tid);

/* True if the process runs an interpreter with readable frames, as far as it was examined. */
bool interp_threads__reads(struct interp_threads *scripts, uint32_t pid);

/* The process ended or replaced its program. */
void interp_threads__on_exit(struct interp_threads *scripts, uint32_t pid);

/* Time of the next look for new threads (CLOCK_MONOTONIC); 0: no process runs an interpreter. */
uint64_t interp_threads__due_ns(const struct interp_threads *scripts);

/* Looks for new threads and enters them for the probes. Returns 0 or -errno, as above. */
int interp_threads__look(struct interp_threads *scripts);

#endif
