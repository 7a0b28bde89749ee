/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts and duration histograms of dispatches, by process and loop kind: the blocks' denominators.
 */
#ifndef JANK_MODEL_HIST_H
#define JANK_MODEL_HIST_H

#include "model/block.h"
#include "model/event.h"
#include <stddef.h>
#include <stdint.h>

struct hists;

struct hist_totals {
	uint64_t dispatch_cnt, block_cnt, hang_cnt;
};

struct hists *hists__new(void);	       /* NULL: out of memory */
void hists__free(struct hists *hists); /* accepts NULL */

/* Adds a thread's counts. 0 or -ENOMEM; beyond 4096 entries they go to pid 0's. */
int hists__add(struct hists *hists, const struct jank_rec_thread *rec);
int hists__merge(struct hists *hists, const struct hists *other);

/* The dispatches of each process and loop kind: fn may be called several times for one process. */
void hists__each(const struct hists *hists,
		 void (*fn)(void *ctx, uint32_t pid, uint64_t dispatch_cnt), void *ctx);

struct hist_totals hists__totals(const struct hists *hists);

/* The name of a process that has ended, for all that hists__list tells of it. 0 or -ENOMEM. */
int hists__name(struct hists *hists, uint32_t pid, const char *name);

/*
 * One entry for each process and loop kind, by pid. `process` is a copy of its name, NULL where
 * none was given. 0 or -ENOMEM; *ret belongs to the caller.
 */
int hists__list(const struct hists *hists, struct loop_hist **ret, size_t *ret_cnt);

#endif
