/* SPDX-License-Identifier: GPL-2.0 */
/* How fast one of the machine's CPUs is, by sysfs: compared with the largest one, and just now. */
#ifndef JANK_PROCFS_CPUINFO_H
#define JANK_PROCFS_CPUINFO_H

#include <stdbool.h>
#include <stdint.h>

/* 0: not known, as in most virtual machines. */
struct cpu_info {
	uint32_t capacity; /* of 1024, which the largest core has */
	uint32_t khz, max_khz;
};

/* sys: "/sys". */
void cpuinfo__read(const char *sys, uint32_t cpu, struct cpu_info *ret);

/* The NUMA node of a CPU, by its directory's link "nodeN"; some 10 us. False: the kernel does not tell. */
bool cpuinfo__node(const char *sys, uint32_t cpu, uint32_t *ret);

#endif
