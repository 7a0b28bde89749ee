/* SPDX-License-Identifier: GPL-2.0 */
/* Interpreters' threads: found by the symbolizer, told to the probes, which read their frames. The sink thread's. */
#ifndef JANK_SCRIPTS_H
#define JANK_SCRIPTS_H

#include <stdint.h>

#include "kernel/script_maps.h"
#include "symbol/symbolize.h"

struct scripts;

/* Both borrowed. NULL: out of memory. */
struct scripts *scripts__new(struct script_maps *maps, struct symbolizer *sym);
void scripts__free(struct scripts *scripts); /* accepts NULL */

/*
 * The process has a thread, or a block of one, that the probes should know of, if it runs an interpreter. 0 or -errno:
 * -E2BIG when there are too many threads.
 */
int scripts__consider(struct scripts *scripts, uint32_t pid, uint32_t tid);

#endif
