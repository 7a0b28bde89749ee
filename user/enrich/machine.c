/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history is bounded but reaches back as far as the longest hang. When it is full, every second
 * reading of the older half is dropped, so it grows coarser with age.
 *
 * The CPU time of a process is its CPU clock, exact to the nanosecond. utime and stime of
 * /proc/PID/stat are rounded to clock ticks (10 ms), too coarse for a dispatch of 25 ms.
 */
#include "enrich/machine.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "files/file.h"

#define READINGS_MAX  256
#define PROCESSES_MAX JANK_TGID_MAX
#define UNKNOWN	      MACHINE_UNKNOWN

struct process {
	pid_t pid;
	UT_hash_handle hh;
	uint64_t cpu_ns[READINGS_MAX]; /* parallel to the readings; UNKNOWN before it was added */
};

struct machine {
	uint64_t ns[READINGS_MAX];
	struct machine_reading readings[READINGS_MAX];
	size_t cnt;
	struct process *processes;
	struct thermal *throttle; /* NULL: no throttle counters */
};

struct machine *machine__new(void)
{
	return calloc(1, sizeof(struct machine));
}

void machine__free(struct machine *machine)
{
	if (!machine)
		return;
	while (machine->processes)
		machine__drop_process(machine, machine->processes->pid);
	thermal__close(machine->throttle);
	free(machine);
}

void machine__watch_heat(struct machine *machine, const char *sys)
{
	thermal__close(machine->throttle);
	machine->throttle = thermal__open(sys);
}

static struct process *find_process(const struct machine *machine, pid_t pid)
{
	struct process *process;

	HASH_FIND(hh, machine->processes, &pid, sizeof(pid), process);
	return process;
}

static struct process *new_process(struct machine *machine, pid_t pid)
{
	struct process *process = malloc(sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, machine->processes, pid, sizeof(pid), process);
	return process;
}

int machine__add_process(struct machine *machine, pid_t pid)
{
	struct process *process = find_process(machine, pid);

	if (!process && HASH_COUNT(machine->processes) == PROCESSES_MAX)
		return 0;
	if (!process)
		process = new_process(machine, pid);
	if (!process)
		return -ENOMEM;
	for (size_t i = 0; i < READINGS_MAX; i++)
		process->cpu_ns[i] = UNKNOWN;
	return 0;
}

void machine__drop_process(struct machine *machine, pid_t pid)
{
	struct process *process = find_process(machine, pid);

	if (!process)
		return;
	HASH_DEL(machine->processes, process);
	free(process);
}

static void move_reading(struct machine *machine, size_t from, size_t to)
{
	struct process *process;

	machine->ns[to] = machine->ns[from];
	machine->readings[to] = machine->readings[from];
	for (process = machine->processes; process; process = process->hh.next)
		process->cpu_ns[to] = process->cpu_ns[from];
}

static void thin_out(struct machine *machine)
{
	size_t to = 0;

	for (size_t from = 0; from < machine->cnt; from++) {
		if (from < machine->cnt / 2 && from % 2)
			continue;
		move_reading(machine, from, to++);
	}
	machine->cnt = to;
}

void machine__put(struct machine *machine, uint64_t now_ns, const struct machine_reading *reading,
		  uint64_t (*cpu_ns)(pid_t pid, void *ctx), void *ctx)
{
	struct process *process;
	size_t at;

	if (machine->cnt && now_ns <= machine->ns[machine->cnt - 1])
		return;
	if (machine->cnt == READINGS_MAX)
		thin_out(machine);
	at = machine->cnt++;
	machine->ns[at] = now_ns;
	machine->readings[at] = *reading;
	for (process = machine->processes; process; process = process->hh.next) {
		uint64_t ns = cpu_ns(process->pid, ctx);

		if (ns == UNKNOWN && at > 0)
			ns = process->cpu_ns[at - 1]; /* it ended and uses no more CPU */
		process->cpu_ns[at] = ns;
	}
}

/*
 * Position of a time among the readings: index of the earlier reading, and the fraction of the way
 * to the next one.
 */
struct position {
	size_t i;
	double part;
};

/* t_ns must lie within the readings; there must be at least two. */
static struct position locate(const struct machine *machine, uint64_t t_ns)
{
	size_t low = 0, high = machine->cnt - 1;
	const uint64_t *ns = machine->ns;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (ns[mid] <= t_ns)
			low = mid;
		else
			high = mid;
	}
	return (struct position){ low, (double)(t_ns - ns[low]) / (double)(ns[high] - ns[low]) };
}

static double between(uint64_t a, uint64_t b, double part)
{
	return (double)a + ((double)b - (double)a) * part;
}

static uint64_t counter(const struct machine *machine, size_t i, size_t member)
{
	return *(const uint64_t *)((const char *)&machine->readings[i] + member);
}

static double counter_at(const struct machine *machine, size_t member, struct position at)
{
	return between(counter(machine, at.i, member), counter(machine, at.i + 1, member), at.part);
}

static bool is_known(const struct machine *machine, size_t member, struct position at)
{
	return counter(machine, at.i, member) != UNKNOWN &&
	       counter(machine, at.i + 1, member) != UNKNOWN;
}

/* Growth of a counter, never negative: iowait can shrink. */
static double grown(const struct machine *machine, size_t member, struct position from,
		    struct position to)
{
	double more = counter_at(machine, member, to) - counter_at(machine, member, from);

	return more > 0 ? more : 0;
}

/* Growth of a counter of microseconds, in percent of the interval of ns nanoseconds. */
static double pressure_pct(const struct machine *machine, unsigned resource, struct position from,
			   struct position to, uint64_t ns)
{
	size_t member = offsetof(struct machine_reading, pressure_us) + resource * sizeof(uint64_t);
	double pct;

	if (!is_known(machine, member, from) || !is_known(machine, member, to))
		return -1;
	pct = 100 * 1000 * grown(machine, member, from, to) / (double)ns;
	return pct < 100 ? pct : 100;
}

static double process_pct(const struct machine *machine, pid_t pid, uint64_t start_ns,
			  uint64_t end_ns)
{
	const struct process *process = find_process(machine, pid);
	struct position from, to;
	size_t first = 0;
	double used, pct;

	while (process && first < machine->cnt && process->cpu_ns[first] == UNKNOWN)
		first++;
	if (!process || first + 1 >= machine->cnt)
		return -1;
	if (start_ns < machine->ns[first])
		start_ns = machine->ns[first];
	if (end_ns <= start_ns)
		return -1;
	from = locate(machine, start_ns);
	to = locate(machine, end_ns);
	used = between(process->cpu_ns[to.i], process->cpu_ns[to.i + 1], to.part) -
	       between(process->cpu_ns[from.i], process->cpu_ns[from.i + 1], from.part);
	/* a reading is later than its time where the reader lost the CPU */
	pct = 100 * used / ((double)(end_ns - start_ns) * machine->readings[to.i].ticks.cpus);
	return pct < 100 ? pct : 100;
}

bool machine__throttled(const struct machine *machine, uint32_t cpu, uint64_t start_ns,
			uint64_t end_ns)
{
	uint32_t active = 0;
	size_t last;

	if (!machine->throttle || machine->cnt < 2 || end_ns <= machine->ns[0] ||
	    start_ns >= machine->ns[machine->cnt - 1])
		return false;
	if (start_ns < machine->ns[0])
		start_ns = machine->ns[0];
	if (end_ns > machine->ns[machine->cnt - 1])
		end_ns = machine->ns[machine->cnt - 1];
	last = locate(machine, end_ns).i + 1;
	for (size_t i = locate(machine, start_ns).i; i < last; i++)
		active |= thermal__active(machine->throttle, machine->readings[i].throttle,
					  machine->readings[i + 1].throttle);
	return active && (active & thermal__of(machine->throttle, cpu));
}

void machine__load(const struct machine *machine, pid_t pid, uint64_t start_ns, uint64_t end_ns,
		   Jankbpf__Cpu *ret)
{
	struct position from, to;
	double total;

	if (machine->cnt < 2)
		return;
	if (start_ns < machine->ns[0])
		start_ns = machine->ns[0];
	if (end_ns > machine->ns[machine->cnt - 1])
		end_ns = machine->ns[machine->cnt - 1];
	if (end_ns <= start_ns)
		return;
	from = locate(machine, start_ns);
	to = locate(machine, end_ns);
	total = grown(machine, offsetof(struct machine_reading, ticks.total), from, to);
	/* Negative: not known. */
#define SET(message, field, value)                                                                 \
	((message)->field = (value), (message)->has_##field = (message)->field >= 0)
	if (total > 0) {
#define PCT(member)                                                                                \
	(100 * grown(machine, offsetof(struct machine_reading, ticks.member), from, to) / total)
		SET(ret, total_pct, PCT(busy));
		SET(ret, user_pct, PCT(user));
		SET(ret, system_pct, PCT(system));
		SET(ret, iowait_pct, PCT(iowait));
		SET(ret, steal_pct, PCT(steal));
#undef PCT
	}
	SET(ret->psi, cpu, pressure_pct(machine, MACHINE_CPU, from, to, end_ns - start_ns));
	SET(ret->psi, memory, pressure_pct(machine, MACHINE_MEMORY, from, to, end_ns - start_ns));
	SET(ret->psi, io, pressure_pct(machine, MACHINE_IO, from, to, end_ns - start_ns));
	SET(ret, process_pct, process_pct(machine, pid, start_ns, end_ns));
#undef SET
	if (total > 0 && ret->process_pct > ret->total_pct)
		ret->total_pct = ret->process_pct; /* the CPU clock is finer than clock ticks */
}

/*
 * --- readings of the machine: CPU time from /proc/stat, pressure from /proc/pressure, memory from
 * /proc/meminfo
 */

#define STAT_MAX     (4u << 20) /* lists every interrupt of every CPU */
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
	uint64_t ns;

	(void)ctx;
	return clock__process_ns(pid, &ns) ? MACHINE_UNKNOWN : ns;
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

/* MACHINE_UNKNOWN if the kernel has no PSI or has it switched off. */
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
	thermal__read(machine->throttle, reading.throttle);
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
