/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns events into dispatches: collects the evidence of each thread (stacks, spans, preemptors)
 * until its block or hang record arrives. Keeps the counts of ended threads by process and loop
 * kind.
 */
#ifndef JANK_MODEL_LOOP_H
#define JANK_MODEL_LOOP_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include "model/chain/chain.h"
#include "model/event.h"
#include "model/evidence.h"
#include "model/hist.h"
#include "model/loss.h"
#include <stdbool.h>
#include <stdint.h>

struct loops;

/* A reported dispatch with its evidence; freed with dispatch__free. */
struct dispatch {
	struct jank_rec_block rec;
	bool hang;	       /* still open */
	bool hang_reported;    /* a hang was reported before its end */
	uint64_t hang_told_ns; /* its delay at that report */
	struct evidence evidence;
	struct chain chain; /* explains its longest wait that another thread ended */
};

/* Start delay in ns; 0 also if the record does not have it. */
uint64_t dispatch__start_delay(const struct jank_rec_block *rec);

/* Start delay and duration in ns: what is compared with limits. */
uint64_t dispatch__delay(const struct jank_rec_block *rec);

struct loops *loops__new(struct losses *losses); /* NULL: out of memory */
void loops__free(struct loops *loops);

/*
 * Divides the memory for evidence among users: uid_of(ctx, pid) is the user of a process, or
 * UID_UNKNOWN. Without it all processes count as one user's.
 */
void loops__set_users(struct loops *loops, uint32_t (*uid_of)(const void *ctx, uint32_t pid),
		      const void *ctx);

/*
 * Adds an event. *ret: the dispatch that it completes (owned by the caller), or NULL. 0, or
 * -ENOMEM: some evidence is missing.
 */
int loops__event(struct loops *loops, const struct event *event, struct dispatch **ret);

/*
 * Sets the bytes queued for the sinks. From the next event on, they share the limit with the
 * evidence (budget.c).
 */
void loops__set_waiting(struct loops *loops, size_t bytes);

/* Frees records of other threads that no open dispatch needs: thread_history__rest. */
void loops__rest(struct loops *loops, uint64_t now_ns, uint64_t open_ns);

void dispatch__free(struct dispatch *dispatch);

/* A process ended; its counts keep its texts (hists__name). 0 or -ENOMEM. */
int loops__name_ended(struct loops *loops, const Jankbpf__Identity *process);

/* Counts of ended threads; borrowed. An agent folds them (hists__fold). */
/*
 * A process ended without a loop: what its main thread has is dropped by loops__rest when it is no
 * longer needed.
 */
void loops__on_exit(struct loops *loops, uint32_t pid, uint64_t now_ns);

/* Sets first_turn_ns of these. */
void loops__set_first_turns(const struct loops *loops, struct loop_hist *list, size_t cnt);

struct hists *loops__ended(const struct loops *loops);

/* --- The judge: turns a dispatch into a block if it exceeds the threshold. */

struct judge {
	uint64_t threshold_ns;
	uint64_t hang_ns;    /* 0: none */
	uint64_t startup_ns; /* the threshold of start-ups; 0: none is reported */
	unsigned fps;
	bool debugging;		      /* also report blocks that were stopped most of the time */
	const struct host_info *host; /* borrowed; the strings are copied into each block */
	int64_t real_offset_ns;
	struct not_shown not_shown;
};

/*
 * Moves the evidence out of the dispatch; the caller still frees the dispatch. 1: *ret is a block.
 * 0: no block (within the threshold, or stopped by a debugger). Or -ENOMEM. process may be NULL:
 * unknown.
 */
/* Frames of a display that pass in ns; fps 0: 60. */
uint32_t dropped_frames(uint64_t ns, unsigned fps);
int judge__dispatch(struct judge *judge, struct dispatch *dispatch,
		    const Jankbpf__Identity *process, struct block **ret);

/*
 * --- Frames of a display that passed in an interval, from the refreshes (vblanks) that the kernel
 * counted. Between two reported refreshes, the difference of their sequence numbers is exact: the
 * kernel turns the interrupt off while no program requests frames. After the last report nothing is
 * known, so the result is a lower bound.
 */

/*
 * Adds one display. *ret is zeroed by the caller before the first call; it keeps the display with
 * the most missed frames. The interval excludes start_ns and includes end_ns.
 */
void display_frames__add(Jankbpf__Display *ret, uint32_t crtc, const struct jank_vblanks *vblanks,
			 uint64_t start_ns, uint64_t end_ns);

#endif
