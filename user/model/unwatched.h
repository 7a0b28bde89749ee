/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is not watched, with the reason: "0 blocks" says nothing about these processes and threads.
 * Filled on the intake thread, completed on the sink thread, part of a summary.
 */
#ifndef JANK_MODEL_UNWATCHED_H
#define JANK_MODEL_UNWATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWATCHED_MAX 1000 /* entries; what is beyond is counted */

/* X(NAME, the contract's word) */
#define UNWATCHED_REASONS(X)                                                                       \
	X(NO_LOOP, "no_loop")	      /* no thread of the process was seen in a loop */            \
	X(MAIN_THREAD, "main_thread") /* other threads were, the main thread was not */            \
	X(FEW_TURNS, "few_turns")     /* it waits as a loop does, but has not come back often */   \
	X(LATE, "late")		      /* its loop was known only after some turns */               \
	X(CHILD, "child")	      /* a child of a traced process, which is not traced */       \
	X(ZOMBIE, "zombie")	      /* it has ended, and its parent has not waited for it */     \
	X(LOOP_OFF, "loop_off")	      /* its loops are of a kind that only -l switches on */       \
	X(WORKERS, "workers")	      /* --workers: its threads run in an interpreter */           \
	X(BITS_32, "32_bit")	      /* the probes for 32-bit programs are not attached */        \
	X(TOO_MANY, "too_many")	      /* -a: more main threads than can be watched at once */

#define UNWATCHED_X_REASON(NAME, word) UNWATCHED_##NAME,
enum unwatched_reason { UNWATCHED_REASONS(UNWATCHED_X_REASON) UNWATCHED_REASON_CNT };
#undef UNWATCHED_X_REASON

struct unwatched {
	enum unwatched_reason reason;
	uint32_t pid;
	uint32_t tid;	   /* 0: the whole process */
	char comm[64];	   /* the process's name; any bytes */
	char waits_in[24]; /* the system call of its main thread; "" unknown, or it runs */
	char loop[32];	   /* LOOP_OFF: the kind of loop */
	uint64_t late_ns;  /* LATE: from the start on */
};

/* Zeroed when it is empty. */
struct unwatched_list {
	struct unwatched *items;
	size_t cnt;
	uint64_t more_cnt; /* beyond UNWATCHED_MAX, or not looked at in time */
};

const char *unwatched__word(enum unwatched_reason reason);

/* False: no reason has that word. */
bool unwatched__reason(const char *word, enum unwatched_reason *ret);

/* 0 or -ENOMEM. */
int unwatched__add(struct unwatched_list *list, const struct unwatched *item);

/* Drops the entries of a process. */
void unwatched__drop(struct unwatched_list *list, uint32_t pid);

void unwatched__free(struct unwatched_list *list); /* what it points to, not itself */

/*
 * Calls fn with one sentence for each group of equal reason and name, at most max_lines times: the
 * last one counts what is left. 0 or -ENOMEM.
 */
int unwatched__each_line(const struct unwatched_list *list, size_t max_lines,
			 void (*fn)(void *ctx, const char *line), void *ctx);

#endif
