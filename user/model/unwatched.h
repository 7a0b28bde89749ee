/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes and threads that are not traced, with the reason: "0 blocks" does not cover them.
 * Filled on the intake thread, completed on the sink thread, part of a summary.
 */
#ifndef JANK_MODEL_UNWATCHED_H
#define JANK_MODEL_UNWATCHED_H

#include "schema/blockinfo.pb-c.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNWATCHED_MAX 1000 /* entries; more are only counted */

/* X(NAME, key in the output) */
#define UNWATCHED_REASONS(X)                                                                       \
	X(NO_LOOP, "no_loop")	      /* no thread of the process was seen in a loop */            \
	X(MAIN_THREAD, "main_thread") /* other threads were, the main thread was not */            \
	X(FEW_TURNS, "few_turns")     /* waits like a loop, but returned too few times */          \
	X(LATE, "late")		      /* a thread's loop was detected only after some turns */     \
	X(CHILD, "child")	      /* child of a traced process, not traced itself */           \
	X(ZOMBIE, "zombie")	      /* it ended, but the parent has not reaped it */             \
	X(LOOP_OFF, "loop_off")	      /* its loop kind needs -l */                                 \
	X(WORKERS, "workers")	      /* --workers: its threads run in an interpreter */           \
	X(BITS_32, "32_bit")	      /* the probes for 32-bit programs are not attached */        \
	X(TOO_MANY, "too_many")	      /* -a: more main threads than the limit */                   \
	X(OVERRIDE, "override")	      /* the configuration has watch = no for it */                \
	X(BUDGET, "budget")	      /* it would exceed the agent's budget of CPU time */         \
	X(NESTED, "nested")	      /* its loop turned inside handlers, as for a dialog */       \
	X(SIGNALS, "signals")	      /* waits for nothing but signals, as a supervisor does */    \
	X(POOL, "pool")		      /* its callbacks waited for a thread of libuv's pool */

#define UNWATCHED_X_REASON(NAME, word) UNWATCHED_##NAME,
enum unwatched_reason { UNWATCHED_REASONS(UNWATCHED_X_REASON) UNWATCHED_REASON_CNT };
#undef UNWATCHED_X_REASON

#define WAITS_AT_SZ 264

struct unwatched {
	enum unwatched_reason reason;
	uint32_t pid;
	uint32_t tid;		    /* 0: the whole process */
	char comm[64];		    /* process name; any bytes */
	char waits_in[24];	    /* system call of the main thread; "" unknown, or it runs */
	uint64_t waits_ns;	    /* for how long at least; 0: not known */
	char waits_at[WAITS_AT_SZ]; /* the functions that it is in, innermost first; "" unknown */
	char loop[32];		    /* LOOP_OFF: the kind of loop */
	char thread[16];	    /* LATE: name of the thread; "" unknown */
	uint64_t late_ns;	    /* LATE: time since the start */
	/* since the start, when this was true; 0: from the beginning, or up to the end */
	uint64_t from_ns, until_ns;
	/* NESTED: the function that ran the loop ("": not known), number and time of handlers */
	char function[128];
	uint64_t handler_cnt, handler_ns;
	/* POOL: the longest time in which busy_cnt of pool_cnt threads were at work */
	uint32_t pool_cnt, busy_cnt;
	uint64_t busy_ns, busy_times;
};

/* All zero: empty. */
struct unwatched_list {
	struct unwatched *items;
	size_t cnt;
	uint64_t more_cnt; /* over UNWATCHED_MAX, or not checked in time */
};

const char *unwatched__word(enum unwatched_reason reason);

/* False: unknown word. */
bool unwatched__reason(const char *word, enum unwatched_reason *ret);

/* 0 or -ENOMEM. */
int unwatched__add(struct unwatched_list *list, const struct unwatched *item);

/* Adds an entry of a record. Also -EINVAL: unknown reason, nothing is added. */
int unwatched__add_record(struct unwatched_list *list, const Jankbpf__NotWatched *record);

/* Drops the entries of a process. */
void unwatched__drop(struct unwatched_list *list, uint32_t pid);

void unwatched__free(struct unwatched_list *list); /* frees what it points to, not the struct */

/*
 * Calls fn with one sentence for each group with the same reason and name, at most max_lines times.
 * The last line counts the rest, with UNWATCHED_REASON_CNT. 0 or -ENOMEM.
 */
int unwatched__each_line(const struct unwatched_list *list, size_t max_lines,
			 void (*fn)(void *ctx, enum unwatched_reason reason, const char *line),
			 void *ctx);

#endif
