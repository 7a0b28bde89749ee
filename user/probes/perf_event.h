/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clock of the sampler: one perf event for each CPU. An event for a task would be reprogrammed at
 * every context switch, which in a virtual machine is an exit to the hypervisor
 * (docs/kernel-facts.md).
 */
#ifndef JANK_PROBES_PERF_EVENT_H
#define JANK_PROBES_PERF_EVENT_H

#include "base/err.h"
#include <stdbool.h>

struct bpf_program;
struct perf_events;

/* hw: try the cycles counter first. Skips a CPU that goes offline meanwhile. */
int perf_events__new(struct bpf_program *prog, unsigned hz, bool hw, struct perf_events **ret,
		     struct err *err);
void perf_events__free(struct perf_events *events); /* accepts NULL */
const char *perf_events__clock(const struct perf_events *events);

#endif
