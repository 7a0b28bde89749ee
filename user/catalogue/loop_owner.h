/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose loop a wait is: the catalogue asks for the functions around it, and those are found as
 * return addresses on the waiting thread's stack. No unwinding: programs without frame pointers
 * have them, too. The sink thread's.
 *
 * A word counts that points into code, right behind a call. One that was left by an earlier call
 * and never overwritten counts as well; the nearest to the wait decides, so that this is seldom
 * seen.
 */
#ifndef JANK_CATALOGUE_LOOP_OWNER_H
#define JANK_CATALOGUE_LOOP_OWNER_H

#include "catalogue/catalogue.h"
#include "catalogue/idle_places.h"
#include "catalogue/wait_note.h"
#include "model/block.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

struct loop_owner;

struct loop_owner *loop_owner__new(const struct catalogue *cat,
				   struct symbolizer *sym); /* borrowed; NULL: no memory */
void loop_owner__free(struct loop_owner *whose);	    /* accepts NULL */

/*
 * A thread's wait: where it may have been called from, by the mappings that the symbolizer knows
 * now. Names are looked up when somebody asks. 0 or -ENOMEM.
 */
int loop_owner__record(struct loop_owner *whose, const struct wait_note *note);
void loop_owner__on_exit(struct loop_owner *whose,
			 uint32_t pid); /* the process; the names of its loops stay */
void loop_owner__resolve_all(struct loop_owner *whose); /* as if all were gone */

/* The wait that was noted last of a thread, or NULL. */
const struct jank_rec_wait *loop_owner__recorded(const struct loop_owner *whose, uint32_t tid);

/* A process was seen, or has a new program. 0 or -ENOMEM. */
int loop_owner__program(struct loop_owner *whose, uint32_t pid);

/* What is known of a program by itself, whatever loops it has, or NULL. */
const struct catalogue_row *loop_owner__program_row(const struct loop_owner *whose, uint32_t pid);

/*
 * The row of a thread's loop, or NULL: nobody's that the catalogue knows. Where the thread's stack
 * told nothing, its program's row, or else that of the process's other loops.
 */
const struct catalogue_row *loop_owner__row(struct loop_owner *whose, uint32_t pid, uint32_t tid,
					    uint32_t loop);

/*
 * Is the noted wait one of the row's parks? Kept nowhere. -ENODATA: the thread's frames are not
 * known. *ret: the frames that decided it, without a verdict where they can't be told.
 */
int loop_owner__parks(struct loop_owner *whose, const struct wait_note *note,
		      const struct catalogue_row *row, struct jank_park_chain *ret);

/*
 * The same of a main thread that waits for work somewhere: is the noted wait at its idle place, as
 * far as `chains` knows the thread? *ret: its callers, with that verdict; none while it is
 * IDLE_UNKNOWN, as CPython's own locks stay.
 */
enum idle_verdict loop_owner__rests(struct loop_owner *whose, const struct wait_note *note,
				    struct idle_chains *chains, struct jank_park_chain *ret);

/*
 * The row of a process's loops of that kind, where all that have one have the same; else NULL.
 * Those that nobody asked for have theirs when they have settled, if the names of files tell it.
 */
const struct catalogue_row *loop_owner__process_row(const struct loop_owner *whose, uint32_t pid,
						    uint32_t loop);

/* What is known of each thread, in the order of the notes. */
struct whose_loop {
	const struct jank_rec_wait *rec;
	const struct catalogue_row *row; /* NULL: unknown */
	const char *exe;		 /* NULL: unknown */
	const struct frame *frames;	 /* around the wait, libc's left out: module and function */
	size_t frame_cnt;
};
void loop_owner__each(struct loop_owner *whose,
		      void (*fn)(void *ctx, const struct whose_loop *loop), void *ctx);

/* Shared by the files of loop_owner.h only. */

#define WHOSE_ADDRESS_MAX 48

struct symbolizer *loop_owner__symbolizer(const struct loop_owner *whose);

/*
 * The wait's own address (0: unknown), then the return addresses among the note's words, at most so
 * many in all.
 */
size_t loop_owner__addresses(const struct loop_owner *whose, const struct wait_note *note,
			     uint64_t *ret);

#endif
