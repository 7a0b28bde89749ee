/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is not watched, and why. All functions run on the intake thread. */
#ifndef JANK_SESSION_UNWATCHED_LOOK_H
#define JANK_SESSION_UNWATCHED_LOOK_H

#include "model/unwatched.h"
#include "session/compat_watch.h"
#include "session/openings.h"
#include "session/startups.h"
#include <dirent.h>
#include <stdbool.h>

struct session;

/* The first look runs in slices: the next slice continues with the members below `proc`. */
struct unwatched_look {
	const struct options *opts; /* borrowed, as are all up to losses */
	const struct filter *filter;
	struct process_table *processes;
	struct loader *loader;
	const struct compat_watch *compat;
	const struct mains *mains;	 /* may be NULL */
	const struct openings *openings; /* may be NULL */
	struct startups *startups;	 /* may be NULL */
	struct queue *queue;
	struct losses *losses;
	const uint64_t *start_ns; /* of the run */
	DIR *proc;
	struct unwatched_list *list; /* NULL: not started, or finished */
	size_t found_cnt;	     /* what the last finished look found */
	uint64_t report_ns;
	int timer_fd;
	struct unwatched_list children; /* not traced, as of the first look */
};

/* Called at the end. True: a loop waits that was never seen to turn. */
bool unwatched_look__at_end(struct unwatched_look *look, struct unwatched_list *ret);
/* The first look begins a second later. Its timer or -errno. */
int session__look_for_unwatched(struct session *s);
/* An agent's next look is due: what it does not watch has changed. */
void session__look_unwatched_soon(struct session *s);
void unwatched_look__free(struct unwatched_look *look);

#endif
