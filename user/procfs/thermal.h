/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Are CPUs slowed down for heat? By sysfs: on x86 each core and each package counts how often it
 * was; elsewhere a processor's cooling device says how much it is held back just now. The files are
 * kept open, since they are read with every reading of the machine: some 0.5 µs each, so there is a
 * bound.
 */
#ifndef JANK_PROCFS_THERMAL_H
#define JANK_PROCFS_THERMAL_H

#include <stdint.h>

#define THROTTLE_MAX	 24
#define THROTTLE_UNKNOWN UINT32_MAX

struct thermal;

/* sys: "/sys". NULL: this machine tells nothing of it (or out of memory). */
struct thermal *thermal__open(const char *sys);
void thermal__close(struct thermal *throttle); /* accepts NULL */

/* What each of the files says now; throttle may be NULL. */
void thermal__read(const struct thermal *throttle, uint32_t ret[THROTTLE_MAX]);

/* Which of the files told of throttling from one reading to a later one: a bit each. */
uint32_t thermal__active(const struct thermal *throttle, const uint32_t *before,
			 const uint32_t *after);

/*
 * Which of them are about this CPU: a bit each. It reads files: to be asked when there is
 * something.
 */
uint32_t thermal__of(const struct thermal *throttle, uint32_t cpu);

#endif
