/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Load of the machine while a dispatch lasted. Keeps recent readings of /proc/stat, /proc/pressure
 * and the CPU clocks of the traced processes; interpolates between them for any interval.
 */
#ifndef JANK_ENRICH_MACHINE_H
#define JANK_ENRICH_MACHINE_H

#include "model/block.h"
#include "procfs/host.h"
#include <stdint.h>
#include <sys/types.h>

struct machine;

struct machine *machine__new(void);	     /* NULL when out of memory */
void machine__free(struct machine *machine); /* accepts NULL */

/*
 * Reads this process's CPU time from now on. Returns 0 or -ENOMEM. A process that does not exist,
 * or is beyond the limit, gets no process_pct. A second call starts afresh, for a reused pid.
 */
int machine__add_process(struct machine *machine, pid_t pid);
void machine__drop_process(struct machine *machine, pid_t pid); /* stops reading it */

/* Adds thermal throttling of CPUs to the readings, if sys ("/sys") has the counters. */
void machine__watch_heat(struct machine *machine, const char *sys);

/*
 * True if this CPU was throttled for heat in the interval, by the readings from just before it to
 * just after it.
 */
bool machine__throttled(const struct machine *machine, uint32_t cpu, uint64_t start_ns,
			uint64_t end_ns);

/* Takes a reading; now_ns is CLOCK_MONOTONIC. Returns 0, or -errno if the reading is missing. */
int machine__read(struct machine *machine, uint64_t now_ns);

/*
 * Computes the load over an interval, without the parts outside all readings. Unknown values stay
 * absent. Does not set `busy`. ret has a psi.
 */
void machine__load(const struct machine *machine, pid_t pid, uint64_t start_ns, uint64_t end_ns,
		   Jankbpf__Cpu *ret);

/* Returns the memory now, in KiB. 0, or -errno with the outputs untouched. */
int machine__memory(uint64_t *ret_total, uint64_t *ret_free, uint64_t *ret_available);

/* The machine's CPU time since boot, in clock ticks. */
struct machine_ticks {
	uint64_t user;	 /* includes nice and guests */
	uint64_t system; /* includes interrupts */
	uint64_t iowait;
	uint64_t steal;
	uint64_t busy; /* all but idle and iowait; includes steal */
	uint64_t total;
	unsigned cpus;
};

/* Resources that tasks wait for, as in the kernel's pressure stall information (PSI). */
enum { MACHINE_CPU, MACHINE_MEMORY, MACHINE_IO };
#define MACHINE_RESOURCE_CNT 3
#define MACHINE_UNKNOWN	     UINT64_MAX

struct machine_reading {
	struct machine_ticks ticks;
	/* microseconds since boot in which some task waited for the resource; or MACHINE_UNKNOWN */
	uint64_t pressure_us[MACHINE_RESOURCE_CNT];
	uint32_t throttle[THROTTLE_MAX]; /* filled by thermal__read */
};

/* Parsers, exported for tests. Return 0 or -EBADMSG. */
int machine__parse_stat(const char *text, struct machine_ticks *ret);
int machine__parse_pressure(const char *text, uint64_t *ret_us);
int machine__parse_meminfo(const char *text, uint64_t *ret_total, uint64_t *ret_free,
			   uint64_t *ret_available);

/* Adds a reading taken elsewhere; cpu_ns returns a process's CPU time or MACHINE_UNKNOWN. */
void machine__put(struct machine *machine, uint64_t now_ns, const struct machine_reading *reading,
		  uint64_t (*cpu_ns)(pid_t pid, void *ctx), void *ctx);

#endif
