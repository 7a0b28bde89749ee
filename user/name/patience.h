/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patience with a process that owes an answer: it has a limit of CPU time, and one of time asleep.
 * On a busy machine it gets little CPU time; while it waits for a CPU, it has PATIENCE_STARVED
 * times as long. Counts in ticks: at each one the caller got a CPU itself.
 */
#ifndef JANK_NAME_PATIENCE_H
#define JANK_NAME_PATIENCE_H

#include "base/clock.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PATIENCE_TICK_NS (NS_PER_SEC / 4)
#define PATIENCE_STARVED 12
/* A process that runs less than this in a tick, and wants no CPU at its end, slept. */
#define PATIENCE_RAN_NS (5 * NS_PER_MS)

/* Zeroes: no tick yet. */
struct patience {
	uint64_t begin_ns, begin_cpu_ns; /* at the first tick, so that quick answers cost nothing */
	uint64_t cpu_ns;		 /* of the process, at the last tick */
	uint32_t asleep_cnt;		 /* ticks in which it slept */
};

/*
 * At least PATIENCE_TICK_NS have passed without an answer. now_ns: CLOCK_MONOTONIC; cpu_ns: the
 * process's CPU time; wants_cpu: it runs or waits for a CPU now. Returns true when it has run for
 * limit_ns since the first tick, or slept for it, or starved for as much as PATIENCE_STARVED says.
 * Any thread.
 */
bool patience__tick(struct patience *patience, uint64_t now_ns, uint64_t cpu_ns, bool wants_cpu,
		    uint64_t limit_ns);

/* The same, of a process of ours. One that has ended has slept. */
bool patience__ends(struct patience *patience, pid_t pid, uint64_t limit_ns);

#endif
