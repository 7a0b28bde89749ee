/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Losses of user space, counted by reason where they happen, in one list with the kernel side's.
 * Numbers go on from the ABI's. Any thread may count.
 */
#ifndef JANK_MODEL_LOSS_H
#define JANK_MODEL_LOSS_H

#include "bpf/jank_abi.h"
#include "model/block.h"
#include <stddef.h>
#include <stdint.h>

/* X(NAME, key in `lost`) */
#define USER_LOSSES(X)                                                                             \
	X(BAD_RECORD, "bad_records")		  /* a record that contradicts itself */           \
	X(UNKNOWN_RECORD, "unknown_records")	  /* of a kind from another version */             \
	X(SAMPLES_CAPPED, "samples_capped")	  /* more than one dispatch, or all, may hold */   \
	X(PREEMPTORS_CAPPED, "preemptors_capped") /* of too many tasks */                          \
	X(THREADS_CAPPED, "threads_capped")	  /* more threads than we keep evidence of */      \
	X(EVIDENCE_CAPPED, "evidence_capped")	  /* of threads waited for: too much to keep */    \
	X(QUEUE_FULL, "queue_full")		  /* the sinks are too slow for the blocks */      \
	X(UNWRITTEN, "unwritten_records")	  /* a sink could not write: disk full, … */     \
	X(JOURNAL, "unwritten_journal")		  /* the journal could not be written */           \
	X(SKIPPED, "probes_skipped")		  /* one was under way on that CPU already */      \
	X(NAMES, "names_cut_short")		  /* look-ups of names or lines took too long */   \
	X(UNANSWERED, "reads_unanswered") /* a program's memory or file that takes for ever */     \
	X(NO_MEMORY, "out_of_memory")

#define USER_X_LOSS(NAME, key) LOSS_##NAME,
enum user_loss { LOSS_BEFORE_FIRST = JANK_LOSS_CNT - 1, USER_LOSSES(USER_X_LOSS) LOSS_CNT };
#undef USER_X_LOSS

struct losses {
	uint64_t cnt[LOSS_CNT];
};

void losses__add(struct losses *losses, int reason, uint64_t cnt); /* atomic */
uint64_t losses__total(const struct losses *losses);
const char *loss__key(int reason); /* the word in `lost` */

/* Counts a loss in the record that it touches; nothing for 0. 0 or -ENOMEM. */
int block__add_loss(struct block *block, int reason, uint64_t cnt);

/* The non-zero ones as an array (*ret owned by the caller, NULL when none). 0 or -ENOMEM. */
int losses__list(const struct losses *losses, struct block_loss **ret, size_t *ret_cnt);

#endif
