/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Losses in user space, counted by reason where they happen, in one list with the kernel's. The
 * numbers continue those of the ABI. Any thread may count. Below: what was dropped by user.
 */
#ifndef JANK_MODEL_LOSS_H
#define JANK_MODEL_LOSS_H

#include "bpf/jank_abi.h"
#include <stddef.h>
#include <stdint.h>

struct block;
struct block_loss;

/* X(NAME, key in `lost`) */
#define USER_LOSSES(X)                                                                             \
	X(BAD_RECORD, "bad_records")		  /* the record is inconsistent */                 \
	X(UNKNOWN_RECORD, "unknown_records")	  /* record kind of another version */             \
	X(SAMPLES_CAPPED, "samples_capped")	  /* over the limit of a dispatch or the budget */ \
	X(PREEMPTORS_CAPPED, "preemptors_capped") /* over the limit of tasks */                    \
	X(THREADS_CAPPED, "threads_capped")	  /* over the limit of threads with evidence */    \
	X(EVIDENCE_CAPPED, "evidence_capped")	  /* over the limit of thread_history */           \
	X(QUEUE_FULL, "queue_full")		  /* the sinks are slower than the blocks */       \
	X(UNWRITTEN, "unwritten_records")	  /* a sink could not write: disk full, … */     \
	X(JOURNAL, "unwritten_journal")		  /* the journal could not be written */           \
	X(SPOOL_FULL, "spool_full")		  /* dropped before a backend had them */          \
	X(SKIPPED, "probes_skipped")		  /* probe already running on that CPU */          \
	X(NAMES, "names_cut_short")		  /* names or lines took too long */               \
	X(UNANSWERED, "reads_unanswered")	  /* reading memory or a file timed out */         \
	X(UNREAD, "files_unread")		  /* over a limit, or of another owner */          \
	X(DELIVER_RESTARTED, "deliver_restarted") /* the process with the sinks ended */           \
	X(NAMER_RESTARTED, "namer_restarted")	  /* the process that makes names ended */         \
	X(NAMER_FORBIDDEN, "namer_forbidden") /* … for a system call that it must not make */    \
	X(NO_MEMORY, "out_of_memory")

#define USER_X_LOSS(NAME, key) LOSS_##NAME,
enum user_loss { LOSS_BEFORE_FIRST = JANK_LOSS_CNT - 1, USER_LOSSES(USER_X_LOSS) LOSS_CNT };
#undef USER_X_LOSS

struct losses {
	uint64_t cnt[LOSS_CNT];
};

void losses__add(struct losses *losses, int reason, uint64_t cnt); /* atomic */
void losses__add_memory(struct losses *losses); /* failed allocations that no caller counted */
uint64_t losses__total(const struct losses *losses);
const char *loss__key(int reason); /* key in `lost` */

/* Counts a loss in the block that it affects; no effect for 0. 0 or -ENOMEM. */
int block__add_loss(struct block *block, int reason, uint64_t cnt);

/*
 * The non-zero counts as an array. *ret is owned by the caller, NULL if there are none. 0 or
 * -ENOMEM.
 */
int losses__list(const struct losses *losses, struct block_loss **ret, size_t *ret_cnt);

/* Sets the count of a reason in such a list; 0 takes it out. 0 or -ENOMEM: nothing has changed. */
int losses__set_listed(struct block_loss **list, size_t *list_cnt, int reason, uint64_t cnt);

/* Adds to such a list what has been counted between two times. 0 or -ENOMEM. */
int losses__add_since(struct block_loss **list, size_t *list_cnt, const struct losses *then,
		      const struct losses *now);

/*
 * --- what was dropped because its user was over the share (docs/decisions/shares.md), by user. The
 * probes' counts are added at the end. Used on the intake thread.
 */

#define OVER_SHARE_MAX 64 /* users with an entry of their own */

struct over_share {
	uint32_t uid;		      /* UID_UNKNOWN: further users, and users that are not known */
	uint64_t cnt[JANK_SHARE_CNT]; /* by JANK_SHARE_* */
};

/* All zero: nothing was dropped. The entry of UID_UNKNOWN is not always the last one. */
struct over_shares {
	struct over_share users[OVER_SHARE_MAX + 1];
	size_t cnt;
};

uint64_t over_shares__total(const struct over_shares *shares); /* sum of all counts */

/* kind: JANK_SHARE_*. No effect for a count of 0. */
void over_shares__add(struct over_shares *shares, uint32_t uid, unsigned kind, uint64_t cnt);

#endif
