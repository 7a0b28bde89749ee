/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start-ups of processes that began during the trace. Without another word: the intake thread. */
#ifndef JANK_SESSION_STARTUPS_H
#define JANK_SESSION_STARTUPS_H

#include "probes/loader.h"
#include "session/startup_names.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct features;
struct options;
struct session;

/* A process whose start-up is watched. */
struct starting {
	uint32_t pid;
	uint64_t begin_ns;
	char comm[JANK_COMM_SZ];
	unsigned ask_cnt;     /* how often the probes were asked to open its dispatch */
	bool copied;	      /* its stack was, if it slept then */
	bool told;	      /* to the intake thread */
	uint64_t hang_due_ns; /* when to look whether it hangs; UINT64_MAX: no more */
	/* when it was opened it slept since then, with that count of sleeps; 0: it ran */
	uint64_t since_ns, sleep_cnt;
};

struct startups {
	pthread_t thread;     /* looks for them */
	int stop_fd, due_fd;  /* it is to end; the intake thread is to look at the threads */
	bool started, chosen; /* chosen: only the processes of -p and COMMAND */
	uint64_t period_ns, hang_ns;
	struct opening_bpf_fds maps;
	struct startup_names *names;
	pthread_mutex_t lock; /* for the list, where both threads use it */
	struct starting list[JANK_STARTUP_MAX];
	size_t cnt;
};

/* --startup, in ns; 0: off, or this kernel can't. */
uint64_t startups__threshold(const struct options *opts, const struct features *features);
void session__begin_startups(struct session *s);
/* Since when the main thread of a process that starts up sleeps; 0: not known. Any thread. */
uint64_t startups__since(struct startups *startups, uint32_t pid);
void startups__end(struct startups *startups);

#endif
