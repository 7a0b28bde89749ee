/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time and memory that the run itself costs. All functions run on the intake thread. */
#ifndef JANK_SESSION_OWN_COST_H
#define JANK_SESSION_OWN_COST_H

#include "probes/loader.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session;

/*
 * The kernel's run-time statistics of BPF programs cost time, so they are on only in short windows.
 * The windows are rare, since the kernel patches its code at start and end of each.
 */
struct cost_meter {
	int stats_fd; /* open within a window, else -1 */
	int timer_fd;
	bool always; /* another user switched the statistics on permanently */
	uint64_t window_start_ns, windows_ns, last_ns, every_ns;
};

void cost_meter__tick(struct cost_meter *meter); /* timer; needs FEATURE_BPF_STATS */
void cost_meter__close(struct cost_meter *meter);
/* Extrapolates the costs counted in the windows to the whole run. False: unknown. */
bool cost_meter__bpf(struct cost_meter *meter, struct loader *loader, uint64_t elapsed_ns,
		     uint64_t *ret_ns, uint64_t *ret_runs);

#define OWN_PROCESSES 8

/* CPU time of our processes, which are restarted when they end. */
struct own_cpu {
	struct {
		pid_t pid; /* 0: none */
		uint64_t ns;
	} of[OWN_PROCESSES];
	uint64_t gone_ns; /* of those that ended */
};

/* The sum of all, also those that ended: it never falls. pids: 0 for none; of: 0 if unknown. */
uint64_t own_cpu__sum(struct own_cpu *own, const pid_t pids[OWN_PROCESSES],
		      uint64_t (*of)(pid_t pid));

uint64_t session__own_cpu_ns(struct session *s);       /* of the run */
uint64_t session__own_rss_kb(const struct session *s); /* of all that live now */
/*
 * The same with pages that they share counted once; 0: not known. Reads page tables: 0.1 ms for
 * each 10 MiB.
 */
uint64_t session__own_pss_kb(const struct session *s);

#endif
