/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the machine did while a dispatch lasted: readings of /proc/stat, of /proc/pressure and of
 * the traced processes' CPU clocks, kept for a while, and the load over any interval by
 * interpolation between them.
 */
#ifndef JANK_ENRICH_MACHINE_H
#define JANK_ENRICH_MACHINE_H

#include "model/block.h"
#include "procfs/thermal.h"
#include <stdint.h>
#include <sys/types.h>

struct machine;

struct machine *machine__new(void);	     /* NULL when out of memory */
void machine__free(struct machine *machine); /* accepts NULL */

/*
 * From now on this process's CPU time is read, too. 0 or -ENOMEM. One that is not there, and any
 * beyond a bound, gets no process_pct. A second time it begins anew (a pid that was reused).
 */
int machine__add_process(struct machine *machine, pid_t pid);
void machine__drop_process(struct machine *machine, pid_t pid); /* no more of it is asked */

/* From now on readings tell of CPUs throttled for heat, where sys ("/sys") does. */
void machine__watch_heat(struct machine *machine, const char *sys);

/*
 * Was this CPU throttled for heat in an interval? By the readings from just before it to just
 * after.
 */
bool machine__throttled(const struct machine *machine, uint32_t cpu, uint64_t start_ns,
			uint64_t end_ns);

/* Takes a reading; now_ns is CLOCK_MONOTONIC. 0 or -errno: then there is one reading less. */
int machine__read(struct machine *machine, uint64_t now_ns);

/*
 * The load over an interval, of which the part outside all readings is left out. What is not known
 * is negative; `busy` is not set here.
 */
void machine__load(const struct machine *machine, pid_t pid, uint64_t start_ns, uint64_t end_ns,
		   struct machine_load *ret);

/* Memory now, in KiB. 0 or -errno: then untouched. */
int machine__memory(uint64_t *ret_total, uint64_t *ret_free, uint64_t *ret_available);

/* The machine's CPU time since boot, in clock ticks. */
struct machine_ticks {
	uint64_t user;	 /* with nice; guests are in it */
	uint64_t system; /* with interrupts */
	uint64_t iowait;
	uint64_t steal;
	uint64_t busy; /* all but idle and iowait, stolen time too */
	uint64_t total;
	unsigned cpus;
};

/* What tasks may wait for, as the kernel counts the pressure on it (PSI). */
enum { MACHINE_CPU, MACHINE_MEMORY, MACHINE_IO };
#define MACHINE_RESOURCE_CNT 3
#define MACHINE_UNKNOWN	     UINT64_MAX

struct machine_reading {
	struct machine_ticks ticks;
	/* microseconds since boot in which some task waited for it; or MACHINE_UNKNOWN */
	uint64_t pressure_us[MACHINE_RESOURCE_CNT];
	uint32_t throttle[THROTTLE_MAX]; /* as thermal__read has it */
};

/* The parts of the above, for tests. 0 or -EBADMSG. */
int machine__parse_stat(const char *text, struct machine_ticks *ret);
int machine__parse_pressure(const char *text, uint64_t *ret_us);
int machine__parse_meminfo(const char *text, uint64_t *ret_total, uint64_t *ret_free,
			   uint64_t *ret_available);

/* Adds a reading that was had elsewhere; cpu_ns tells a process's CPU time, or MACHINE_UNKNOWN. */
void machine__put(struct machine *machine, uint64_t now_ns, const struct machine_reading *reading,
		  uint64_t (*cpu_ns)(pid_t pid, void *ctx), void *ctx);

#endif
