/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts and durations of dispatches, by process and loop kind: the denominators for the blocks.
 */
#ifndef JANK_MODEL_HIST_H
#define JANK_MODEL_HIST_H

#include "bpf/jank_abi.h"
#include "model/durations.h"
#include "model/identity.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hists;
struct loop_hist;

struct hist_totals {
	uint64_t dispatch_cnt, block_cnt, hang_cnt;
};

struct hists *hists__new(void);	       /* NULL: out of memory */
void hists__free(struct hists *hists); /* accepts NULL */

/* Adds a thread's counts. 0 or -ENOMEM. After 4096 entries, new processes count for pid 0. */
int hists__add(struct hists *hists, const struct jank_rec_thread *rec);
int hists__merge(struct hists *hists, const struct hists *other);
int hists__add_list(struct hists *hists, const struct loop_hist *list, size_t cnt);

/*
 * Calls fn with the dispatches of each process and loop kind, so possibly several times per
 * process.
 */
void hists__each(const struct hists *hists,
		 void (*fn)(void *ctx, uint32_t pid, uint64_t dispatch_cnt), void *ctx);

struct hist_totals hists__totals(const struct hists *hists);

/* Keeps the texts of an ended process for hists__list. 0 or -ENOMEM. */
int hists__name(struct hists *hists, const Jankbpf__Identity *process);

/*
 * One entry for each process and loop kind, by pid, with copies of the texts that hists__name
 * keeps, if any. 0 or -ENOMEM; the caller owns *ret.
 */
int hists__list(const struct hists *hists, struct loop_hist **ret, size_t *ret_cnt);

/*
 * Lists what each process and loop kind has more than *told, which then has it, too (durations.h).
 * What has nothing new is left out; block_cnt is 0. 0 or -ENOMEM; the caller frees *ret.
 */
int hists__take_new(struct hists *told, const struct hists *now, struct loop_hist **ret,
		    size_t *ret_cnt);

/* The counts of a run that does not end. */
struct hists_run {
	struct hists *ended, *told;
	struct hists *left_out; /* or NULL */
	const struct hists *live;
};

/*
 * Adds what ended processes did to the entry of pid 0, in ended, told and left_out, so that memory
 * is bounded by the processes that live. Call it behind hists__take_new. It folds a process that
 * has ended by two calls in a row: all records of its threads come in between. 0 or -ENOMEM.
 */
int hists__fold(const struct hists_run *run, bool (*lives)(void *ctx, uint32_t pid), void *ctx);

/*
 * Adds up what has the same loop, process name, unit, container and application, sorted by these.
 * Sets process_cnt.
 */
void loop_hists__join(struct loop_hist *list, size_t *cnt);

#endif
