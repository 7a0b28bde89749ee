/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histories around blocks (--record): windows that wait for their end, and the copies of the
 * buffers once they are complete. Blocks whose windows overlap share one. Sink thread, but for
 * histories__new, histories__begin and histories__free.
 */
#ifndef JANK_SESSION_HISTORIES_H
#define JANK_SESSION_HISTORIES_H

#include "model/block.h"
#include "probes/history_buffers.h"
#include "schema/blockinfo.pb-c.h"

struct histories;
struct history;
struct output;

/* What a history is about. */
struct output_blocks {
	Jankbpf__Block **list; /* records of blocks and hangs; borrowed */
	size_t cnt;
	uint64_t left_out_cnt; /* more of them */
};

/* output__history. */
typedef int history_write_fn(struct output *out, const struct history *history,
			     const struct output_blocks *blocks);

/* before_ns: a window begins so long before its first block. NULL: out of memory. */
struct histories *histories__new(uint64_t before_ns, struct losses *losses);
void histories__free(struct histories *histories); /* accepts NULL */

/* The probes record from start_ns on (CLOCK_MONOTONIC). Borrows the buffers. */
void histories__begin(struct histories *histories, const struct history_buffers *buffers,
		      uint64_t start_ns);

/* A block or hang was reported. Accepts NULL. */
void histories__add(struct histories *histories, const Jankbpf__Record *record);

/* When the next history is complete, on CLOCK_MONOTONIC. 0: none waits. Accepts NULL. */
uint64_t histories__due_ns(const struct histories *histories);

/* Writes those that are complete at now_ns. 0, or -EPIPE as of output__block. Accepts NULL. */
int histories__write(struct histories *histories, history_write_fn *write, struct output *out,
		     uint64_t now_ns);

/*
 * Writes the rest, whose windows end at stop_ns at the latest, and sets the counts of all. Returns
 * as above. Accepts NULL.
 */
int histories__finish(struct histories *histories, history_write_fn *write, struct output *out,
		      uint64_t stop_ns, struct summary_histories *ret);

#endif
