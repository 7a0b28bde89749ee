/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about the machine, for records. */
#ifndef JANK_PROCFS_HOST_H
#define JANK_PROCFS_HOST_H

#include "base/err.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * name: of this machine; NULL: that of uname, which in a container is the container's. host__free
 * releases ret's strings. 0 or -errno.
 */
int host__read(const char *name, struct host_info *ret, struct err *err);
void host__free(struct host_info *host);

/* --- speed of a CPU by sysfs: relative to the largest CPU, and its current frequency. */

/* 0: not known, as in most virtual machines. */
struct cpu_info {
	uint32_t capacity; /* of 1024, the capacity of the largest core */
	uint32_t khz, max_khz;
};

/* sys: "/sys". */
void cpuinfo__read(const char *sys, uint32_t cpu, struct cpu_info *ret);

/*
 * The NUMA node of a CPU, by the "nodeN" link in its directory; takes about 10 us. False: the
 * kernel does not show it.
 */
bool cpuinfo__node(const char *sys, uint32_t cpu, uint32_t *ret);

/*
 * --- CPU throttling for heat, from sysfs. On x86 each core and package counts its throttling
 * events; elsewhere a processor's cooling device shows the current limit. The files stay open,
 * because each reading of the machine's load reads them: about 0.5 µs each, so their number is
 * bounded.
 */

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
