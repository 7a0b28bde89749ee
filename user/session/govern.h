/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's budget of CPU time. All functions run on the intake thread. */
#ifndef JANK_SESSION_GOVERN_H
#define JANK_SESSION_GOVERN_H

#include "model/governor.h"
#include <stdbool.h>
#include <stdint.h>

struct interval;
struct session;

struct govern {
	struct governor gov;
	uint64_t period_ns, cpu_ns, dispatch_cnt; /* as of the last period */
	unsigned period_cnt;
	double rate;		/* dispatches a second */
	uint64_t last_ns;	/* cost of the last period */
	int stats_fd, probe_fd; /* -1: the kernel's statistics are off; the timer that ends them */
	bool runs;		/* there is a timer */
	uint64_t probe_start_ns, probe_ns;
	double bpf_share, probe_rate; /* time in the probes, as measured; the rate then */
	unsigned share_cnt;	      /* measurements in bpf_share */
	uint64_t blind_since_ns;
	bool tries;		/* it was blind: the next measurement decides whether it is again */
	uint64_t blind_cost_ns; /* then, in ns of CPU time a second */
	uint64_t step_cnt, blind_ns, bpf_ns; /* of the run */
	struct {
		uint64_t step_cnt, blind_ns, bpf_ns;
	} told; /* in intervals */
};

/* At the start, and when it may have changed. 0 or -errno. */
int session__use_budget(struct session *s);
void session__take_govern(struct session *s, struct interval *ret);

#endif
