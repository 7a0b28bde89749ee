/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes found by their records: with -a all, with -f the children. All functions run on the
 * intake thread.
 */
#ifndef JANK_SESSION_DISCOVERY_H
#define JANK_SESSION_DISCOVERY_H

#include "session/main_threads.h"

struct event;
struct jank_rec_wait;
struct session;

struct discovery {
	struct mains *mains; /* NULL: without -a, or the kernel has no task iterator */
	int more_fd;	     /* timer of another look for mains; -1: none */
	uint64_t period_ns;  /* start of the current period of asked_cnt */
	unsigned asked_cnt;  /* processes that were added because a thread asked */
};

void session__follow(struct session *s); /* existing children */
void session__on_process(struct session *s, const struct event *event);
/* A process starts up: it is described before its first stack comes. */
void session__on_starting(struct session *s, uint32_t pid, const char *comm);
void session__on_children(struct session *s); /* children without a known loop */
void session__open_mains(struct session *s);
/* -a: main threads to watch. True: there are more. */
bool session__look_for_mains(struct session *s, bool first);
/* True if the asking process is known. With -a it becomes traced here, at a limited rate. */
bool session__on_asking(struct session *s, const struct jank_rec_wait *rec);
void session__sweep(struct session *s); /* periodic: finds ended processes without an exit event */

#endif
