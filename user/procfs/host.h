/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about the machine, for records. */
#ifndef JANK_PROCFS_HOST_H
#define JANK_PROCFS_HOST_H

#include "base/err.h"
#include "model/block.h"
#include <stdbool.h>
#include <stdint.h>

int host__read(struct host_info *ret, struct err *err); /* host__free releases its strings */
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

#endif
