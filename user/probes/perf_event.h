/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler's clock: one perf event for each CPU. Never one for a task: that is programmed anew
 * at every context switch, which in a virtual machine is an exit to the hypervisor
 * (docs/kernel-facts.md).
 */
#ifndef JANK_PROBES_PERF_EVENT_H
#define JANK_PROBES_PERF_EVENT_H

#include "base/err.h"
#include <stdbool.h>

struct bpf_program;
struct perf_events;

/* hw: try the cycles counter first. A CPU that goes offline meanwhile is left out. */
int perf_events__new(struct bpf_program *prog, unsigned hz, bool hw, struct perf_events **ret,
		     struct err *err);
void perf_events__free(struct perf_events *events); /* accepts NULL */
const char *perf_events__clock(const struct perf_events *events);

#endif
