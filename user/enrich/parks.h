/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parks of runtimes' workers, and the idle places of main threads (docs/loops.md): finds the
 * processes that have some, by the catalogue's rows of their loops, and answers the probes'
 * questions of places. The sink thread's.
 */
#ifndef JANK_ENRICH_PARKS_H
#define JANK_ENRICH_PARKS_H

#include "catalogue/catalogue.h"
#include "catalogue/loop_owner.h"
#include "catalogue/wait_note.h"
#include "enrich/interp_threads.h"
#include "model/block.h"
#include "probes/bpf_fds.h"
#include <stdbool.h>
#include <stdint.h>

struct parks;

/* All borrowed. NULL: out of memory. */
struct parks *parks__new(struct park_bpf_fds *maps, struct loop_owner *whose,
			 struct interp_threads *scripts);
void parks__free(struct parks *parks); /* accepts NULL */

/*
 * The main thread of the process, and those that the catalogue names, are to be watched where they
 * keep returning to, until a loop with parks of its own is found in it; with `workers` each of its
 * threads. 0 or -errno: they are not watched there.
 */
int parks__watch_idle(struct parks *parks, uint32_t pid, bool workers);

/*
 * Loops in epoll of the process that wait in this code are not wanted: its threads cost no more
 * than those of a process that is not traced. 0, or -errno: they cost what loops cost.
 */
int parks__leave_alone(struct parks *parks, uint32_t pid, uint64_t code_start, uint64_t code_end);

/*
 * Looks at each thread of the process by /proc, and at the stacks of those that poll now (with a
 * limit on time, see apart.h). Where the catalogue knows such a wait by its callers, the probes
 * need no evidence of a loop, and its first dispatch is judged. exe: the program's path, or NULL. 0
 * or -errno: the map is full, or out of memory.
 */
int parks__find_waits(struct parks *parks, uint32_t pid, const char *exe);

/*
 * A loop of the process is row's (NULL: nobody's), and wanted. 0, or -errno where its parks stay
 * untold.
 */
int parks__update(struct parks *parks, uint32_t pid, const struct catalogue_row *row);

/*
 * Is it a block from before its process's parks were known to the probes, with a wait in it that
 * may have been one? What it says would be wrong.
 */
bool parks__is_early(const struct parks *parks, const struct block *block);

/* Is the note a question (jank_rec_wait)? */
bool parks__asks(const struct jank_rec_wait *rec);

/* Answers it, if the thread's frames are known. 0 or -errno. */
int parks__answer(struct parks *parks, const struct wait_note *note);

/*
 * Calls fn for each process that has a worker (tid is one of them) with such waits as IDLE_ALIKE
 * means.
 */
void parks__each_alike(const struct parks *parks, void (*fn)(void *ctx, uint32_t pid, uint32_t tid),
		       void *ctx);

void parks__on_exit(struct parks *parks, uint32_t pid);

#endif
