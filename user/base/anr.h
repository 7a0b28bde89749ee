/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Android's limits for "application not responding", in seconds. An input event has 5, a foreground
 * broadcast 10, a foreground service 20, a background service 200 (InputConstants.h,
 * BroadcastConstants.java and ActiveServices.java of AOSP 14).
 */
#ifndef JANK_BASE_ANR_H
#define JANK_BASE_ANR_H

#include <stdint.h>

#define ANR_LIMITS 4
extern const uint64_t anr__limits_s[ANR_LIMITS]; /* ascending */

/* The largest limit that the delay exceeds, in seconds; 0: it exceeds none. */
uint32_t anr__exceeded(uint64_t delay_ns);

#endif
