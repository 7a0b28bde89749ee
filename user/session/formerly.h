/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was not watched of a process for a part of the run. Times are CLOCK_MONOTONIC; start_ns is
 * the start of the run. Used on the intake thread only.
 */
#ifndef JANK_SESSION_FORMERLY_H
#define JANK_SESSION_FORMERLY_H

#include "model/unwatched.h"
#include "session/process_table.h"

struct catalogue;
struct jank_rec_wait;

/*
 * A loop became known by this wait. Sets since when its thread is watched: its blocks on probation
 * are reported, too (probation.c). Keeps an entry if that is later than the start.
 */
void formerly__on_wait(struct process_entry *process, const struct catalogue *cat,
		       const struct jank_rec_wait *rec, uint64_t start_ns, struct losses *losses);
/* Keeps what a look found, until a loop becomes known. */
void formerly__keep(struct process_entry *process, const struct unwatched *item,
		    struct losses *losses);
/* Adds the kept entries that are over, with their times. Returns 0 or -ENOMEM. */
int formerly__add(const struct process_entry *process, const char *name, uint64_t start_ns,
		  struct unwatched_list *ret);
/* Since when this entry holds: a thread was known to loop before. 0: from the start. */
uint64_t formerly__from_ns(const struct process_entry *process, const struct unwatched *item,
			   uint64_t start_ns);

#endif
