/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where threads wait for their next dispatch: the callers of a loop's wait, unwound from the copy
 * of the stack that came with it. Frames that a block's stack shares with them belong to the
 * dispatcher, not to the handler. The last wait of each of at most 8192 threads is kept. Used on
 * the sink thread only.
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

/* Unwinds the note's copy, if it has one. 0 or -ENOMEM. */
int idle_places__record(struct idle_places *places, const struct wait_note *note);

/* Sets block->idle_place, where one is known of its thread. 0 or -ENOMEM. */
int idle_places__fill(const struct idle_places *places, struct block *block);

/*
 * Did the thread go to rest in the middle of it? Another thread than the main one may be a worker
 * that polled now and then: if for most of the block it slept at one place on a futex that is no
 * lock, with fewer frames than its loop's wait has, that is its idle place. Where the callers of
 * the loop's wait are not known, it must have come there twice. The block's own callers must have
 * been found.
 */
bool idle_places__rests(const struct idle_places *places, const struct block *block);

/*
 * How many of a process's return addresses, the innermost exact, are outside of the C library and
 * its kin.
 */
uint32_t idle_places__depth(struct symbolizer *sym, uint32_t pid, const uint64_t *addresses,
			    uint32_t cnt);

void idle_places__on_exit(struct idle_places *places,
			  uint32_t pid); /* the process has ended, or is another program */

/*
 * The idle place of a thread that waits for work neither in epoll nor in poll: which of the chains
 * of callers by which it comes to its waits is the one it keeps returning to. Pure logic; used on
 * the sink thread.
 */

struct idle_chains;

struct idle_chains *idle_chains__new(void); /* NULL: out of memory */
void idle_chains__free(struct idle_chains *chains);

/* A wait: its callers, how it was found. */
struct idle_visit {
	const uint64_t *addresses; /* the wait's own, then return addresses outwards */
	uint32_t cnt;
	uint32_t depth; /* how many of them are outside of the C library */
	int32_t nr;	/* its system call */
	bool sleeps;	/* which waits for nothing but time */
	bool one_call; /* whatever waits in these frames of the interpreter is one call of the program */
	uint32_t script;       /* the interpreter's frames, by their identity; 0: there are none */
	uint32_t script_depth; /* how many of them */
	uint64_t now_ns,
		cpu_ns; /* CLOCK_MONOTONIC; CPU time that the thread has used in its life */
};

enum idle_verdict {
	IDLE_UNKNOWN, /* too few visits yet, or the thread hardly rests */
	IDLE_YES,     /* the idle place: of those it returns to, none is further out */
	IDLE_OUTER,   /* the same, and what was IDLE_YES before is a handler's wait */
	IDLE_NO,      /* a handler's wait: the thread also returns to one further out */
	IDLE_ALIKE, /* a wait of an interpreter whose frames are not read: its callers are the same for work and in a handler */
};

enum idle_verdict idle_chains__visit(struct idle_chains *chains, const struct idle_visit *visit);

/*
 * The same of a sleep that is counted nowhere: it is the loop's own pause if it is as far out as
 * the idle place.
 */
enum idle_verdict idle_chains__pause(const struct idle_chains *chains,
				     const struct idle_visit *visit);

/* The thread waits in a way that is no place to wait for work. */
void idle_chains__lock(struct idle_chains *chains);

#endif
