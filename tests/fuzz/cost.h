/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bound on the work of a round, relative to its input: at most `per_byte` steps for each byte, and
 * for COST_BASE bytes more. A step is a block of code that was run (cover.h), so the count is the
 * same on every machine. What steps do not show (libraries, memmove) is bounded by CPU time:
 * COST_STEP_NS for each allowed step, ten times what a step takes with the sanitizers. A build
 * without coverage has only this bound.
 */
#ifndef JANK_FUZZ_COST_H
#define JANK_FUZZ_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/clock.h"
#include "tests/fuzz/cover.h"
#include "tests/tap.h"

#define COST_BASE    4096
#define COST_STEP_NS 100
#define COST_CPU_NS  (50 * NS_PER_MS) /* for what the machine adds to a short round */

struct cost {
	unsigned per_byte;
	uint64_t begin_steps, begin_ns, worst_ns, largest;
	double worst; /* steps a byte */
	bool exceeded;
};

static inline uint64_t cost__cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * NS_PER_SEC + now.tv_nsec;
}

static inline void cost__begin(struct cost *cost)
{
	cost->begin_steps = cover.steps;
	cost->begin_ns = cost__cpu_ns();
}

/* The end of the round's work on an input of len bytes. False: it was more than the bound. */
static inline bool cost__end(struct cost *cost, size_t len)
{
	uint64_t steps = cover.steps - cost->begin_steps, ns = cost__cpu_ns() - cost->begin_ns;
	uint64_t max = (uint64_t)cost->per_byte * (len + COST_BASE);
	uint64_t max_ns = max * COST_STEP_NS + COST_CPU_NS;
	double ratio = (double)steps / (len + COST_BASE);

	if (ratio > cost->worst)
		cost->worst = ratio;
	if (ns > cost->worst_ns)
		cost->worst_ns = ns;
	if (len > cost->largest)
		cost->largest = len;
	if (steps <= max && ns <= max_ns)
		return true;
	cost->exceeded = true;
	diag("%zu bytes took %llu steps and %.1f ms; allowed: %llu and %.1f", len,
	     (unsigned long long)steps, ns / 1e6, (unsigned long long)max, max_ns / 1e6);
	return false;
}

static inline void cost__ok(const struct cost *cost)
{
	ok(!cost->exceeded,
	   "the work is in proportion to the input: %.1f of %u steps a byte, at "
	   "most %.1f ms, inputs of up to %llu bytes",
	   cost->worst, cost->per_byte, cost->worst_ns / 1e6, (unsigned long long)cost->largest);
}

#endif
