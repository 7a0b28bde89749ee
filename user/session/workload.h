/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jankbpf -- COMMAND`: a child that waits for the probes before its exec. All functions run on
 * the intake thread.
 */
#ifndef JANK_SESSION_WORKLOAD_H
#define JANK_SESSION_WORKLOAD_H

#include "base/err.h"
#include "files/user_account.h"
#include <sys/types.h>

struct workload {
	pid_t pid;	/* 0: none */
	const char *as; /* name of its user, borrowed from the account; NULL: ours */
	int go_fd;	/* closing it without a write ends the child */
	int failed_fd; /* delivers the errno of a failed exec, or of a user that it cannot become */
	bool ended;
	int status; /* as from waitpid, once ended */
};

/*
 * Forks; the child becomes that user (NULL: it stays as we are) and waits. The child inherits the
 * signal state: call this before changing it.
 */
int workload__prepare(char **argv, const struct user_account *as, struct workload *ret,
		      struct err *err);

/* Lets the child exec. -errno with a message if that fails: no such program, no permission, … */
int workload__go(struct workload *wl, char **argv, struct err *err);

/* Records the exit status if the child has ended. */
void workload__reap(struct workload *wl);

/* Ends the child if it still runs: SIGTERM, and SIGKILL after two seconds. */
void workload__stop(struct workload *wl);

/* Exit status as in a shell: 128 + signal for a killed child. */
int workload__exit_status(const struct workload *wl);

#endif
