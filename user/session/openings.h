/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dispatches that were open before the trace. Without another word: the intake thread. */
#ifndef JANK_SESSION_OPENINGS_H
#define JANK_SESSION_OPENINGS_H

#include "catalogue/catalogue.h"
#include "options/filter.h"
#include "probes/loader.h"
#include "session/main_handler.h"
#include "session/queue.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct session;

struct openings {
	pthread_t thread; /* reads the processes */
	bool started;
	atomic_bool looked, read; /* all are found; and their stacks are read */
	atomic_bool stop;
	const pid_t *pids; /* -p, borrowed, as are the next two */
	const struct catalogue *catalogue;
	struct queue *queue;
	struct filter filter; /* of -a, as at the start; the intake thread asks again */
	size_t pid_cnt;
	bool all;
	bool plain; /* the probes are: no dispatch can be opened */
	struct main_handler found[JANK_OPENING_MAX];
	atomic_size_t found_cnt;
	atomic_size_t told_cnt; /* the probes know these */
	struct opening_bpf_fds maps;
};

/* Begins to look for main threads in a handler, and waits for that of -p, but not long. */
void session__begin_openings(struct session *s);
/* Before a look at the threads, which opens the dispatches that are found by now. */
void session__tell_openings(struct session *s);
/* After that look: waits for their stacks, but not long. True: look again, there are some. */
bool openings__await_stacks(struct openings *openings);
/* Are there answers to come, for which to look at the threads again? */
bool openings__are_pending(const struct openings *openings);
/* A thread has its loop there: the main thread was in no handler of it. */
void openings__on_loop(struct openings *openings, const struct jank_rec_loop *rec);
/* Since when the main thread of -p sleeps in a call that is no loop's wait; 0: not known. */
uint64_t openings__since(const struct openings *openings, uint32_t pid);
void openings__end(struct openings *openings);

#endif
