/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Android's limits for "application not responding", in seconds: an input event 5, a broadcast in
 * the foreground 10, a service in the foreground 20, one in the background 200 (InputConstants.h,
 * BroadcastConstants.java and ActiveServices.java of AOSP 14).
 */
#ifndef JANK_BASE_ANR_H
#define JANK_BASE_ANR_H

#include <stdint.h>

#define ANR_LIMITS 4
extern const uint64_t anr__limits_s[ANR_LIMITS]; /* rising */

/* The longest one that the delay exceeds, in seconds; 0: none. */
uint32_t anr__exceeded(uint64_t delay_ns);

#endif
