/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Idle places: where threads wait for their next dispatch. Callers of a loop's wait are unwound
 * from the stack copy that came with it. Frames that a block's stack shares with them belong to the
 * dispatcher, not to the handler. The last wait of each thread is kept, for at most 8192 threads.
 * Sink thread only.
 */
#ifndef JANK_CATALOGUE_IDLE_PLACES_H
#define JANK_CATALOGUE_IDLE_PLACES_H

#include "catalogue/wait_note.h"
#include "model/block.h"
#include "symbol/names/symbolize.h"
#include <stdbool.h>
#include <stdint.h>

struct idle_places;

struct idle_places *idle_places__new(struct symbolizer *sym); /* borrowed; NULL: out of memory */
void idle_places__free(struct idle_places *places);	      /* accepts NULL */

/* Unwinds the note's stack copy, if it has one. 0 or -ENOMEM. */
int idle_places__record(struct idle_places *places, const struct wait_note *note);

/*
 * Reads the symbol tables that naming a block of the thread needs: the kernel's, and those of the
 * files on the stack of its idle place, if that is known. 0 or -ENOMEM.
 */
int idle_places__prepare(const struct idle_places *places, uint32_t pid, uint32_t tid);

/* Sets block->idle_place if the thread's idle place is known. 0 or -ENOMEM. */
int idle_places__fill(const struct idle_places *places, struct block *block);

/* A wait's own address, then its return addresses outwards; borrowed. */
struct idle_callers {
	const uint64_t *addresses;
	uint32_t cnt;
};

/* A wait of a thread on a futex that is no lock, compared with the wait that is its loop's. */
enum idle_rest {
	REST_UNKNOWN, /* the callers of the loop's wait are not known */
	REST_NONE,    /* a handler's */
	REST_OUTER,   /* fewer frames, or as many with fewer calls between files: it has no work */
	REST_BESIDE, /* of the same function: it has no work if the loop's wait returned no event */
};
enum idle_rest idle_places__compare(const struct idle_places *places, uint32_t pid, uint32_t tid,
				    const struct idle_callers *wait);

/*
 * True if the thread went idle inside the block. A thread other than the main thread may be a
 * worker that polls now and then. It is idle if it slept for most of the block at places of rest
 * (idle_rest). Where the callers of the loop's wait are unknown, it must have waited twice at such
 * a place. A thread that once went idle further out than its loop's wait may rest anywhere, until
 * the probes have learnt its place: what polls may be its work. The block's own callers must be
 * resolved first.
 */
bool idle_places__rests(struct idle_places *places, const struct block *block);

/*
 * Number of a process's return addresses outside the C library and similar runtime files. The
 * innermost address is exact.
 */
uint32_t idle_places__depth(struct symbolizer *sym, uint32_t pid, const uint64_t *addresses,
			    uint32_t cnt);

void idle_places__on_exit(struct idle_places *places,
			  uint32_t pid); /* the process has ended, or has called exec */

/*
 * --- idle chains: the idle place of a thread that waits for work neither in epoll nor in poll. It
 * is the chain of callers that the thread keeps returning to. Pure logic; sink thread only.
 */

struct idle_chains;

struct idle_chains *idle_chains__new(void); /* NULL: out of memory */
void idle_chains__free(struct idle_chains *chains);

/* A wait with its callers. */
struct idle_visit {
	const uint64_t *addresses; /* the wait's own address, then return addresses outwards */
	uint32_t cnt;
	uint32_t depth;	 /* how many are outside the C library */
	int32_t nr;	 /* its system call */
	bool sleeps;	 /* the call waits only for time */
	uint32_t in_row; /* waits there in a row, also those without a question; 0: unknown */
	bool pauses;	 /* a sleep, by the same system call as a queue's wait (Ruby) */
	bool one_call;	 /* all waits in these interpreter frames are one call of the program */
	uint32_t script; /* identity of the interpreter's frames; 0: none */
	uint32_t script_depth; /* number of these frames */
	uint64_t dispatch_ns;  /* begin of the open dispatch; 0: none, or not known */
	uint64_t now_ns,
		cpu_ns; /* CLOCK_MONOTONIC; CPU time that the thread has used since its start */
};

enum idle_verdict {
	IDLE_UNKNOWN, /* too few visits yet, or the thread is rarely idle */
	IDLE_YES,     /* the idle place: the thread returns to no place further out */
	IDLE_OUTER,   /* like IDLE_YES, and the previous IDLE_YES place is a handler's wait */
	IDLE_LEFT,    /* like IDLE_YES, and when the open dispatch ended is not known */
	IDLE_NO,      /* a handler's wait: the thread also returns to one further out */
	IDLE_ALIKE,   /* interpreter frames are not read: idle and handler waits look alike */
};

enum idle_verdict idle_chains__visit(struct idle_chains *chains, const struct idle_visit *visit);

/*
 * Like idle_chains__visit, for a sleep, which never becomes the idle place. Where it is as far out,
 * it is the loop's own pause if it is as frequent as a frame loop's, and a rest if the thread only
 * sleeps there for seconds. Otherwise it may be a handler's: IDLE_UNKNOWN.
 */
enum idle_verdict idle_chains__pause(struct idle_chains *chains, const struct idle_visit *visit);

/* The thread waits for a lock, which is not a wait for work. */
void idle_chains__lock(struct idle_chains *chains);

/*
 * True for the same callers and the same call as in an earlier visit of the idle place; never with
 * interpreter frames. The depth alone would not do: an interpreter makes all calls from one.
 */
bool idle_chains__is_idle(const struct idle_chains *chains, const struct idle_visit *visit);

#endif
