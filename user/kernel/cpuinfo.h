/* SPDX-License-Identifier: GPL-2.0 */
/* How fast one of the machine's CPUs is, by sysfs: compared with the largest one, and just now. */
#ifndef JANK_CPUINFO_H
#define JANK_CPUINFO_H

#include <stdint.h>

/* 0: not known, as in most virtual machines. */
struct cpu_info {
	uint32_t capacity; /* of 1024, which the largest core has */
	uint32_t khz, max_khz;
};

/* sys: "/sys". */
void cpuinfo__read(const char *sys, uint32_t cpu, struct cpu_info *ret);

#endif
