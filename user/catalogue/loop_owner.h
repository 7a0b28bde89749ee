/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owner of a wait: the catalogue row of the loop that the wait belongs to. The catalogue needs the
 * functions around the wait; they are found as return addresses on the waiting thread's stack.
 * There is no unwinding, so it works without frame pointers. Sink thread only.
 *
 * A stack word counts if it points into code directly after a call. A word left by an earlier call
 * and never overwritten counts too; the word nearest to the wait decides, so this rarely matters.
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
void loop_owner__free(struct loop_owner *owners);	    /* accepts NULL */

/*
 * Records a thread's wait with its possible return addresses, by the mappings that the symbolizer
 * knows now. Names are looked up on demand. 0 or -ENOMEM.
 */
int loop_owner__record(struct loop_owner *owners, const struct wait_note *note);
void loop_owner__on_exit(struct loop_owner *owners,
			 uint32_t pid); /* the process; the names of its loops stay */
void loop_owner__resolve_all(struct loop_owner *owners); /* as if all processes had ended */

/* The last recorded wait of a thread, or NULL. */
const struct jank_rec_wait *loop_owner__recorded(const struct loop_owner *owners, uint32_t tid);

/* A process is new, or has called exec. 0 or -ENOMEM. */
int loop_owner__program(struct loop_owner *owners, uint32_t pid);

/* The row that the program matches by itself, for any of its loops, or NULL. */
const struct catalogue_row *loop_owner__program_row(const struct loop_owner *owners, uint32_t pid);

/*
 * The row of a thread's loop, or NULL: the catalogue has none. Where the thread's stack does not
 * decide, it is the program's row, or else that of the process's other loops.
 */
const struct catalogue_row *loop_owner__row(struct loop_owner *owners, uint32_t pid, uint32_t tid,
					    uint32_t loop);

/*
 * 1 if the noted wait is one of the row's parks, else 0; the result is not stored. -ENODATA: the
 * thread's frames are not known. *ret: the frames that decided, without a verdict where they cannot
 * be packed.
 */
int loop_owner__parks(struct loop_owner *owners, const struct wait_note *note,
		      const struct catalogue_row *row, struct jank_park_chain *ret);

/*
 * The same for a wait with known callers: the address in the wait's function, then return
 * addresses, innermost first.
 */
bool loop_owner__is_park(struct loop_owner *owners, uint32_t pid, const uint64_t *addresses,
			 size_t cnt, const struct catalogue_row *row);

/*
 * The index, among a wait's own address and its return addresses outwards, of the innermost
 * function that runs a loop only to wait for the program's own work (an answer on D-Bus, a child):
 * [nested] of loops/wait_reasons.tbl, without dialogs. cnt: there is none that is known. Looks at
 * the inner 32 of them.
 */
size_t loop_owner__nested(struct symbolizer *sym, uint32_t pid, const uint64_t *addresses,
			  size_t cnt);

/*
 * Verdict on a noted wait of a main thread that waits for work somewhere: is it at the idle place,
 * as far as `chains` knows the thread? *ret: its callers with that verdict; empty while the verdict
 * is IDLE_UNKNOWN, as for CPython's own locks.
 */
enum idle_verdict loop_owner__rests(struct loop_owner *owners, const struct wait_note *note,
				    struct idle_chains *chains, struct jank_park_chain *ret);

/*
 * Verdict on a noted wait of a thread with a loop that polls: JANK_PARK_*, by idle_places__compare.
 * -ENODATA: the callers of one of the two are not known, or belong to an interpreter. *ret: as of
 * loop_owner__rests.
 */
int loop_owner__compare(struct loop_owner *owners, const struct wait_note *note,
			const struct idle_places *places, struct jank_park_chain *ret);

/*
 * The common row of a process's loops of that kind, or NULL if they differ. A loop that was never
 * looked up gets its row in resolve_all or on_exit, if file names decide it.
 */
const struct catalogue_row *loop_owner__process_row(const struct loop_owner *owners, uint32_t pid,
						    uint32_t loop);

/* What is known about a thread's loop. Calls come in the order of the notes. */
struct recorded_loop {
	const struct jank_rec_wait *rec;
	const struct catalogue_row *row; /* NULL: unknown */
	const char *exe;		 /* NULL: unknown */
	const struct frame *frames;	 /* around the wait, without libc's: module and function */
	size_t frame_cnt;
};
void loop_owner__each(struct loop_owner *owners,
		      void (*fn)(void *ctx, const struct recorded_loop *loop), void *ctx);

/* Shared by the files of loop_owner.h only. */

#define OWNER_ADDRESS_MAX 48

struct symbolizer *loop_owner__symbolizer(const struct loop_owner *owners);

/*
 * The wait's own address (0: unknown), then the return addresses among the note's words; at most
 * OWNER_ADDRESS_MAX in all.
 */
size_t loop_owner__addresses(const struct loop_owner *owners, const struct wait_note *note,
			     uint64_t *ret);

#endif
