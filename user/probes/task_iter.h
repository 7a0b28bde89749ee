/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inspects the living traced threads from outside; hangs go to the ring, counts to a function. */
#ifndef JANK_PROBES_TASK_ITER_H
#define JANK_PROBES_TASK_ITER_H

#include "bpf/jank_abi.h"

typedef void look_fn(void *ctx, const struct jank_rec_thread *rec);

/* Typed probes: one read of the task iterator. 0 or -errno. */
int task_iter__iterate(int link_fd, look_fn *fn, void *ctx);

struct task_iter_runs {
	int prog_fd;	/* runs once for each thread */
	int threads_fd; /* hash of threads, by tid */
	int parkers_fd; /* processes with other threads that become known by this inspection */
	int room_fd;	/* the program writes the record at the beginning of the value */
	__u32 room_sz;	/* bytes of that value */
};

/* Plain probes: one run of the program for each thread. 0 or -errno. */
int task_iter__run_each(const struct task_iter_runs *runs, look_fn *fn, void *ctx);

#endif
