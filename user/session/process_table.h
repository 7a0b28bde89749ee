/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The traced processes, and their facts as the sink thread gets them. All functions run on the
 * intake thread.
 */
#ifndef JANK_SESSION_PROCESS_TABLE_H
#define JANK_SESSION_PROCESS_TABLE_H

#include "base/err.h"
#include "base/hash.h"
#include "bpf/jank_abi.h"
#include "model/block.h"
#include "model/unwatched.h"
#include "session/queue.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct over_shares;

/*
 * Duty cycle of a process's marks. Each message costs a trap of 1 to 3 us. That is nothing for a
 * window's hundreds a second, but a tenth and more for a server with ten thousands. A process has
 * its marks off at first, and gets them after a second below this rate; one that exceeds it loses
 * them at once. A busy server has them when a dispatch was slow, then for some seconds, a tenth of
 * the time at most.
 */
#define MARKS_BUSY_HZ 2000 /* dispatches or marks: 2,000 traps of 3 us are 0.6 % of a CPU */

struct mark_duty {
	uint64_t looked_ns, dispatch_cnt; /* as of the last look */
	uint64_t rate;			  /* dispatches a second up to the last look */
	/* times of the last switch; on_ns 0: not for a slow dispatch; off_ns 0: never busy */
	uint64_t on_ns, off_ns;
	bool on;
	bool slow; /* a dispatch was slow since they went off */
};

/*
 * dispatch_cnt: dispatches of the process up to now_ns. A call less than a second after the last
 * look only returns the current state. Returns whether the marks are to be on.
 */
bool mark_duty__look(struct mark_duty *duty, uint64_t now_ns, uint64_t dispatch_cnt);

/* A dispatch was a block or hangs. */
void mark_duty__slow(struct mark_duty *duty);

/* A thread meets marks at this rate, a busy one, in marks a second. */
void mark_duty__busy(struct mark_duty *duty, uint64_t now_ns, uint64_t rate);

struct process_entry {
	uint32_t pid;
	int pidfd; /* -1 once it has ended; with -a also if none could be opened */
	Jankbpf__Identity *identity; /* NULL: not read yet */
	bool found;	  /* by its records or as a child; false: the user gave its pid */
	bool keeps_alive; /* tracing continues while it lives */
	bool ended;	  /* -a: ended before it was read */
	bool announced;	  /* the sink thread knows it */
	bool facts_due;	  /* its queue refused the last facts */
	/* since when a thread, and the main thread, is known to loop (CLOCK_MONOTONIC); 0: not */
	uint64_t loop_ns, main_ns;
	struct unwatched_list formerly; /* what was not watched of it, and is by now */
	bool scan_due;			/* may have mapped libraries that were not searched */
	unsigned probe_cnt;		/* uprobes in its mappings */
	uint64_t dispatch_cnt;		/* of its live threads, as of the last look */
	struct mark_duty duty;
	bool marks_off;	      /* as set in the loader */
	uint64_t limit_ns;    /* its least threshold; 0: no override; UINT64_MAX: not watched */
	unsigned over_budget; /* the governor's level that does not watch it; 0: none */
	uint64_t now_cnt, rate_cnt; /* dispatches; of the last period */
	UT_hash_handle hh;
};

struct pending_exit {
	uint32_t pid, uid;
};

struct process_table {
	struct queue *queue; /* borrowed, as are losses and over_share */
	struct losses *losses;
	struct over_shares *over_share;
	void (*on_facts)(void *ctx, struct process_entry *process); /* they are read again */
	void *ctx;
	struct process_entry *entries;	    /* by pid */
	unsigned alive_cnt;		    /* of those with keeps_alive */
	struct pending_exit *pending_exits; /* of processes that the sink thread still knows */
	size_t pending_cnt;
	bool marks_later; /* of new processes; with -a they have the marks of their files at once */
};

struct process_entry *process_table__find(const struct process_table *table, uint32_t pid);
struct process_entry *process_table__add(struct process_table *table, uint32_t pid); /* or NULL */
void process_table__drop(struct process_table *table, struct process_entry *process);
void process_table__free(struct process_table *table);
uint32_t process_table__uid(const struct process_table *table, uint32_t pid); /* or UID_UNKNOWN */

/*
 * Puts an item of a process into the queue and sets its uid. False: refused and counted as a loss,
 * as share_exceeded of the user if that is the reason, else as `reason`. kind: JANK_SHARE_*.
 */
bool process_table__queue(struct process_table *table, struct item *item, int reason,
			  unsigned kind);

/*
 * Reads the process's facts from /proc and passes them to the sink thread. -ESRCH: it ended, or it
 * started after ts_ns, so the pid was reused.
 */
int process_table__read(struct process_table *table, struct process_entry *process, uint64_t ts_ns,
			struct err *err);
/* The process can't be read any more: its name is comm. Returns 0 or -ENOMEM. */
int process_entry__set_name(struct process_entry *process, const char *comm);
void process_table__announce(struct process_table *table, struct process_entry *process);
/* Announces those again that the queue refused. */
void process_table__announce_due(struct process_table *table);

/* False: the queue to the sink thread is full. */
bool process_table__send_exit(struct process_table *table, uint32_t pid);
void process_table__report_exit(struct process_table *table, uint32_t pid); /* now or later */
void process_table__report_pending(struct process_table *table);

bool process_entry__has_ended(const struct process_entry *process);
void process_table__saw(struct process_table *table, const struct jank_rec *hdr); /* it loops */

#endif
