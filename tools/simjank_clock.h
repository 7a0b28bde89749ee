/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * simjank's clocks, and the one way to burn CPU: inlined, so that a sample's leaf is the handler
 * itself and not a shared helper.
 */
#ifndef SIMJANK_CLOCK_H
#define SIMJANK_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

/* Rounds between two reads of the clock, some 10 µs: frames in the vdso have no frame pointer. */
#define BURN_ROUNDS 10000

static inline uint64_t clock__ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock__mono_ns(void)
{
	return clock__ns(CLOCK_MONOTONIC);
}

static inline struct timespec clock__timespec(uint64_t ns)
{
	struct timespec ts;

	ts.tv_sec = (time_t)(ns / NS_PER_S);
	ts.tv_nsec = (long)(ns % NS_PER_S);
	return ts;
}

static inline void clock__sleep_until(uint64_t end_ns)
{
	struct timespec ts = clock__timespec(end_ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

static inline __attribute__((always_inline)) void clock__burn_until(uint64_t end_ns)
{
	uint64_t x = end_ns | 1;

	while (clock__mono_ns() < end_ns)
		for (int i = 0; i < BURN_ROUNDS; i++) {
			x = x * 25214903917ull + 11;
			__asm__ volatile("" : "+r"(x));
		}
}

#endif
