/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process from its first pidfd to its end. All functions run on the intake thread. */
#ifndef JANK_SESSION_PROCESS_LIFE_H
#define JANK_SESSION_PROCESS_LIFE_H

#include "base/err.h"
#include "session/process_table.h"
#include <sys/types.h>

struct session;

/* Search for uprobe sites in programs that have just started. */
struct site_search {
	int timer_fd; /* -1: no search is on */
	unsigned try_cnt;
	bool leases_reported; /* the warning about a file that could not be searched is logged */
};

int session__trace(struct session *s, pid_t pid, struct err *err); /* a given pid */
/* Opens a pidfd. -errno: the end is then found by session__sweep. */
int session__watch_end(struct session *s, struct process_entry *process);
void session__unwatch_end(struct session *s, struct process_entry *process);
/* The one exit path of the intake thread. All records of the process must have been handled. */
void session__on_exit(struct session *s, struct process_entry *process);
void session__on_exec(struct session *s, const struct jank_rec_exec *rec);
void session__on_new_loop(struct session *s, uint32_t pid);
int session__place_probes(struct session *s, struct err *err); /* into all of them */
void session__scan_due(struct session *s);
void session__pace_marks(struct session *s); /* after each look at the threads */
void session__on_busy_marks(struct session *s, const struct jank_rec_marks *rec);

#endif
