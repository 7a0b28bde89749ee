/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jankbpf -- COMMAND`: a child that waits before its exec until the probes are in place. */
#ifndef JANK_SESSION_WORKLOAD_H
#define JANK_SESSION_WORKLOAD_H

#include "base/err.h"
#include <stdbool.h>
#include <sys/types.h>

struct workload {
	pid_t pid;     /* 0: none */
	int go_fd;     /* closing it unwritten ends the child */
	int failed_fd; /* the errno of a failed exec comes from here */
	bool ended;
	int status; /* as of waitpid, once ended */
};

/* Forks; the child waits. It inherits signals as they are now: call it before changing any. */
int workload__prepare(char **argv, struct workload *ret, struct err *err);

/* Lets it exec. -errno with a message when that fails: no such program, no permission, … */
int workload__go(struct workload *wl, char **argv, struct err *err);

/* Notes its end, if it has ended. */
void workload__reap(struct workload *wl);

/* Ends it if it still runs: SIGTERM, and after two seconds SIGKILL. */
void workload__stop(struct workload *wl);

/* The exit status as a shell gives it: 128 + signal for one that was killed. */
int workload__exit_status(const struct workload *wl);

#endif
