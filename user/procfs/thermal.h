/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU throttling for heat, from sysfs. On x86 each core and package counts its throttling events;
 * elsewhere a processor's cooling device shows the current limit. The files stay open, because each
 * reading of the machine's load reads them: about 0.5 µs each, so their number is bounded.
 */
#ifndef JANK_PROCFS_THERMAL_H
#define JANK_PROCFS_THERMAL_H

#include <stdint.h>

#define THROTTLE_MAX	 24
#define THROTTLE_UNKNOWN UINT32_MAX

struct thermal;

/* sys: "/sys". NULL: this machine has no such files (or out of memory). */
struct thermal *thermal__open(const char *sys);
void thermal__close(struct thermal *throttle); /* accepts NULL */

/* Reads the current value of each file; throttle may be NULL. */
void thermal__read(const struct thermal *throttle, uint32_t ret[THROTTLE_MAX]);

/* Files that show throttling between two readings: one bit each. */
uint32_t thermal__active(const struct thermal *throttle, const uint32_t *before,
			 const uint32_t *after);

/*
 * Files that concern this CPU: one bit each. It reads files, so call it only when thermal__active
 * found some.
 */
uint32_t thermal__of(const struct thermal *throttle, uint32_t cpu);

#endif
