/* SPDX-License-Identifier: GPL-2.0 */
/* The machine's own figures: CPU time by /proc/stat, who waits for what by /proc/pressure, memory by /proc/meminfo. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "enrich/machine.h"

#define STAT_MAX     (4u << 20) /* it lists every interrupt of every CPU */
#define MEMINFO_MAX  (64u << 10)
#define PRESSURE_MAX 4096

static const char *const pressure_files[] = {
	[MACHINE_CPU] = "/proc/pressure/cpu",
	[MACHINE_MEMORY] = "/proc/pressure/memory",
	[MACHINE_IO] = "/proc/pressure/io",
};

int machine__parse_stat(const char *text, struct machine_ticks *ret)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	struct machine_ticks ticks = { 0 };

	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &iowait, &irq, &softirq, &steal) != 8)
		return -EBADMSG;
	for (const char *at = strstr(text, "\ncpu"); at; at = strstr(at + 1, "\ncpu"))
		ticks.cpus++;
	ticks.user = user + nice;
	ticks.system = system + irq + softirq;
	ticks.iowait = iowait;
	ticks.steal = steal;
	ticks.busy = ticks.user + ticks.system + steal;
	ticks.total = ticks.busy + idle + iowait;
	*ret = ticks;
	return ticks.cpus ? 0 : -EBADMSG;
}

static uint64_t cpu_clock_ns(pid_t pid, void *ctx)
{
	struct timespec ts;
	clockid_t clock;

	(void)ctx;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return MACHINE_UNKNOWN;
	return timespec__ns(ts);
}

int machine__parse_pressure(const char *text, uint64_t *ret_us)
{
	const char *line = strstr(text, "some ");
	unsigned long long us;

	if (!line || sscanf(line, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &us) != 1)
		return -EBADMSG;
	*ret_us = us;
	return 0;
}

/* None where the kernel counts no pressure, or was told not to. */
static uint64_t read_pressure(const char *path)
{
	struct strbuf sb = STRBUF_INIT;
	uint64_t us = MACHINE_UNKNOWN;

	if (!file__read(path, PRESSURE_MAX, &sb))
		machine__parse_pressure(strbuf__str(&sb), &us);
	strbuf__free(&sb);
	return us;
}

int machine__read(struct machine *machine, uint64_t now_ns)
{
	struct strbuf sb = STRBUF_INIT;
	struct machine_reading reading;
	int res;

	res = file__read("/proc/stat", STAT_MAX, &sb);
	if (!res)
		res = machine__parse_stat(strbuf__str(&sb), &reading.ticks);
	strbuf__free(&sb);
	if (res)
		return res;
	for (unsigned i = 0; i < MACHINE_RESOURCE_CNT; i++)
		reading.pressure_us[i] = read_pressure(pressure_files[i]);
	machine__read_heat(machine, &reading);
	machine__put(machine, now_ns, &reading, cpu_clock_ns, NULL);
	return 0;
}

static int meminfo_value(const char *text, const char *key, uint64_t *ret)
{
	const char *at = strstr(text, key);
	unsigned long long kb;

	if (!at || sscanf(at + strlen(key), " %llu kB", &kb) != 1)
		return -EBADMSG;
	*ret = kb;
	return 0;
}

int machine__parse_meminfo(const char *text, uint64_t *ret_total, uint64_t *ret_free,
			   uint64_t *ret_available)
{
	uint64_t total, free_kb, available;

	if (meminfo_value(text, "MemTotal:", &total) || meminfo_value(text, "MemFree:", &free_kb) ||
	    meminfo_value(text, "MemAvailable:", &available))
		return -EBADMSG;
	*ret_total = total;
	*ret_free = free_kb;
	*ret_available = available;
	return 0;
}

int machine__memory(uint64_t *ret_total, uint64_t *ret_free, uint64_t *ret_available)
{
	struct strbuf sb = STRBUF_INIT;
	int res;

	res = file__read("/proc/meminfo", MEMINFO_MAX, &sb);
	if (!res)
		res = machine__parse_meminfo(strbuf__str(&sb), ret_total, ret_free, ret_available);
	strbuf__free(&sb);
	return res;
}
