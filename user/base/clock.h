/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks in nanoseconds: CLOCK_MONOTONIC in records, local wall time in output for people. */
#ifndef JANK_BASE_CLOCK_H
#define JANK_BASE_CLOCK_H

#include "base/strbuf.h"
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_US  1000ull
#define NS_PER_MS  1000000ull
#define NS_PER_SEC 1000000000ull

static inline uint64_t timespec__ns(struct timespec ts)
{
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t clock__mono_ns(void);
uint64_t clock__real_ns(void);
uint64_t clock__thread_ns(void); /* CPU time of the calling thread */

/* CPU time of all threads of a process. Returns 0, or -errno: it has ended. */
int clock__process_ns(pid_t pid, uint64_t *ret);

/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC: how long the machine was suspended. */
uint64_t clock__suspended_ns(void);

/*
 * CLOCK_REALTIME minus CLOCK_MONOTONIC now: add it to a monotonic time to get wall time. The most
 * exact of several readings.
 */
int64_t clock__real_offset_ns(void);

/* "2026-05-04T10:20:30.123456789+02:00" */
void clock__add_rfc3339(struct strbuf *sb, uint64_t real_ns);

/* Reads such a text. False: it has another form. */
bool clock__read_rfc3339(const char *text, uint64_t *ret_real_ns);

/* strftime in local time, with "%L" (milliseconds, 3 digits) as an additional conversion. */
void clock__add_local(struct strbuf *sb, const char *fmt, uint64_t real_ns);

/*
 * A duration for people, with three significant digits: "412 µs", "98.3 ms", "1.25 s", "3 min 20
 * s".
 */
void clock__add_duration(struct strbuf *sb, uint64_t ns);

/*
 * --- Android's limits for "application not responding", in seconds. An input event has 5, a
 * foreground broadcast 10, a foreground service 20, a background service 200 (InputConstants.h,
 * BroadcastConstants.java and ActiveServices.java of AOSP 14).
 */

#define ANR_LIMITS 4
extern const uint64_t anr__limits_s[ANR_LIMITS]; /* ascending */

/* The largest limit that the delay exceeds, in seconds; 0: it exceeds none. */
uint32_t anr__exceeded(uint64_t delay_ns);

#endif
