/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parks of runtimes' workers, and idle places of main threads (docs/loops.md). Finds the processes
 * that have them, by the catalogue rows of their loops. Answers the probes' questions about places.
 * Used on the sink thread only.
 */
#ifndef JANK_ENRICH_PARKS_H
#define JANK_ENRICH_PARKS_H

#include "catalogue/catalogue.h"
#include "catalogue/idle_places.h"
#include "catalogue/loop_owner.h"
#include "catalogue/wait_note.h"
#include "enrich/interp_threads.h"
#include "model/block.h"
#include "probes/bpf_fds.h"
#include <stdbool.h>
#include <stdint.h>

struct parks;

/* Borrows all. NULL: out of memory. */
struct parks *parks__new(struct park_bpf_fds *maps, struct loop_owner *owners,
			 struct interp_threads *scripts, const struct idle_places *places);
void parks__free(struct parks *parks); /* accepts NULL */

/*
 * Watches the main thread, and the threads that the catalogue names, at the places they keep
 * returning to. With `workers`: every thread. Stops once a loop with parks of its own is found in
 * the process. Returns 0, or -errno if they are not watched there.
 */
int parks__watch_idle(struct parks *parks, uint32_t pid, bool workers);

/*
 * Excludes epoll loops of the process that wait in this code range. Its threads then cost no more
 * than those of an untraced process. Returns 0, or -errno if they still cost what loops cost.
 */
int parks__leave_alone(struct parks *parks, uint32_t pid, uint64_t code_start, uint64_t code_end);

/*
 * Ends that, if it was for all code of the process: it has again what parks__update and
 * parks__watch_idle set. 0 or -errno.
 */
int parks__watch_again(struct parks *parks, uint32_t pid);

/*
 * Examines each thread of the process in /proc, and the stacks of those that poll now (with a time
 * limit, see apart.h). Where the catalogue knows such a wait by its callers, the probes need no
 * further evidence of a loop and judge its first dispatch. exe: path of the program, or NULL.
 * Returns 0 or -errno: the map is full, or out of memory.
 */
int parks__find_waits(struct parks *parks, uint32_t pid, const char *exe);

/*
 * A wanted loop of the process matches this row (NULL: no row). Returns 0, or -errno if the probes
 * did not get its parks.
 */
int parks__update(struct parks *parks, uint32_t pid, const struct catalogue_row *row);

/*
 * True if the block is older than the probes' knowledge of the process's parks and contains a wait
 * that may have been a park. Its verdict would be wrong.
 */
bool parks__is_early(const struct parks *parks, const struct block *block);

/*
 * True if the thread waited at its idle place or in one of its row's parks inside the block, and
 * the rest of the block is shorter than the threshold. The probes learnt of the place too late, as
 * on a machine without a free CPU. The block's callers must be resolved.
 */
bool parks__rests(const struct parks *parks, const struct block *block);

/* True if the note is a question (jank_rec_wait). */
bool parks__asks(const struct jank_rec_wait *rec);

/* Answers the question if the thread's frames are known. Returns 0 or -errno. */
int parks__answer(struct parks *parks, const struct wait_note *note);

/*
 * Calls fn for each process with a worker that has IDLE_ALIKE waits; tid is one of these workers.
 */
void parks__each_alike(const struct parks *parks, void (*fn)(void *ctx, uint32_t pid, uint32_t tid),
		       void *ctx);

void parks__on_exit(struct parks *parks, uint32_t pid);

#endif
