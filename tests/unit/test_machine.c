/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The machine's load over an interval: made-up readings with known results, then this machine's
 * own.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "enrich/machine.h"
#include "tests/tap.h"
#include "tests/unit/child.h"

#define MS NS_PER_MS

static bool near(double got, double want)
{
	if (fabs(got - want) < 0.01)
		return true;
	diag("got %f, want %f", got, want);
	return false;
}

static void test_parse(void)
{
	static const char stat[] = "cpu  10 20 30 400 50 1 2 3 4 5\n"
				   "cpu0 5 10 15 200 25 1 1 1 2 2\n"
				   "cpu1 5 10 15 200 25 0 1 2 2 3\n"
				   "intr 1 2 3\nctxt 5\n";
	uint64_t total = 1, free_kb = 2, available = 3;
	struct machine_ticks ticks;

	is_int(machine__parse_stat(stat, &ticks), 0, "/proc/stat");
	is_uint(ticks.user, 30, "user and nice");
	is_uint(ticks.system, 33, "system and interrupts");
	is_uint(ticks.iowait, 50, "iowait");
	is_uint(ticks.busy, 66, "stolen time counts as busy, guest time once");
	is_uint(ticks.total, 516, "all");
	is_uint(ticks.cpus, 2, "CPUs");
	is_uint(ticks.steal, 3, "stolen");
	is_int(machine__parse_stat("", &ticks), -EBADMSG, "an empty one");
	is_int(machine__parse_stat("cpu 1 2 3\n", &ticks), -EBADMSG, "a short one");
	is_int(machine__parse_stat("cpu 1 2 3 4 5 6 7 8\nintr", &ticks), -EBADMSG,
	       "one without CPUs");
	is_int(machine__parse_meminfo("MemTotal:  100 kB\nMemFree: 20 kB\n", &total, &free_kb,
				      &available),
	       -EBADMSG, "an old meminfo");
	ok(total == 1 && free_kb == 2 && available == 3, "leaves the results unchanged");
	is_int(machine__parse_meminfo("MemTotal:  100 kB\nMemFree: 20 kB\nMemAvailable:  60 kB\n",
				      &total, &free_kb, &available),
	       0, "meminfo");
	ok(total == 100 && free_kb == 20 && available == 60, "its values");
}

static void test_pressure(void)
{
	uint64_t us = 7;

	is_int(machine__parse_pressure("some avg10=0.00 avg60=1.53 avg300=19.78 total=315478624\n"
				       "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
				       &us),
	       0, "/proc/pressure");
	is_uint(us, 315478624, "its total");
	us = 7;
	is_int(machine__parse_pressure("", &us), -EBADMSG, "an empty one");
	is_int(machine__parse_pressure("full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", &us),
	       -EBADMSG, "one without the line");
	is_int(machine__parse_pressure("some avg10=0.00 avg60=", &us), -EBADMSG, "a torn one");
	is_uint(us, 7, "leave the result unchanged");
}

/*
 * The CPU time of the made-up processes: pid 1 uses half of one CPU of two; pid 2 does not exist
 * from 500 ms on.
 */
struct fake {
	uint64_t now_ns;
};

static uint64_t fake_cpu(pid_t pid, void *ctx)
{
	struct fake *fake = ctx;

	if (pid == 1)
		return fake->now_ns / 2;
	if (pid == 2 && fake->now_ns < 500 * MS)
		return fake->now_ns;
	return UINT64_MAX;
}

/*
 * Two CPUs. Until 500 ms 40 % user, 10 % system, 20 % iowait; then 100 % user, of which a quarter
 * is stolen. Ticks of 1 ms. Pressure: CPU half of the time; memory all of it from 500 ms on; I/O
 * unknown.
 */
static void put(struct machine *machine, uint64_t now_ns)
{
	uint64_t ms = now_ns / MS, a = ms < 500 ? ms : 500, b = ms - a;
	const struct machine_reading reading = {
		.ticks = { .user = 2 * (a * 4 / 10 + b),
			   .system = 2 * (a / 10),
			   .iowait = 2 * (a * 2 / 10),
			   .steal = 2 * b / 4,
			   .busy = 2 * (a / 2 + b),
			   .total = 2 * ms,
			   .cpus = 2 },
		.pressure_us = { ms * 500, b * 1000, MACHINE_UNKNOWN },
	};
	struct fake fake = { now_ns };

	machine__put(machine, now_ns, &reading, fake_cpu, &fake);
}

/* Negative: not known. */
struct machine_load {
	double total_pct, process_pct, user_pct, system_pct, iowait_pct, steal_pct;
	double psi_cpu_pct, psi_memory_pct, psi_io_pct;
	bool busy;
};

static struct machine_load load_of(const struct machine *machine, pid_t pid, uint64_t start_ns,
				   uint64_t end_ns)
{
	Jankbpf__Psi psi = JANKBPF__PSI__INIT;
	Jankbpf__Cpu cpu = JANKBPF__CPU__INIT;

	cpu.psi = &psi;
	machine__load(machine, pid, start_ns, end_ns, &cpu);
#define KNOWN(from, field) ((from).has_##field ? (from).field : -1)
	return (struct machine_load){ KNOWN(cpu, total_pct),  KNOWN(cpu, process_pct),
				      KNOWN(cpu, user_pct),   KNOWN(cpu, system_pct),
				      KNOWN(cpu, iowait_pct), KNOWN(cpu, steal_pct),
				      KNOWN(psi, cpu),	      KNOWN(psi, memory),
				      KNOWN(psi, io),	      cpu.has_busy };
#undef KNOWN
}

static void test_load(void)
{
	struct machine *machine = machine__new();
	struct machine_load load;

	machine__add_process(machine, 1);
	machine__add_process(machine, 2);
	machine__add_process(machine, 3);
	put(machine, 100 * MS);
	load = load_of(machine, 1, 100 * MS, 200 * MS);
	ok(load.total_pct < 0 && load.process_pct < 0, "one reading gives nothing");
	for (uint64_t ms = 200; ms <= 1000; ms += 100)
		put(machine, ms * MS);
	put(machine, 900 * MS);

	load = load_of(machine, 1, 150 * MS, 175 * MS);
	ok(near(load.total_pct, 50) && near(load.user_pct, 40) && near(load.system_pct, 10) &&
		   near(load.iowait_pct, 20),
	   "between two readings");
	ok(near(load.process_pct, 25), "half of one CPU is a quarter of two");
	ok(near(load.psi_cpu_pct, 50) && near(load.psi_memory_pct, 0) && near(load.steal_pct, 0),
	   "pressure");
	ok(load.psi_io_pct < 0, "a part of the interval is unknown");
	ok(!load.busy, "busy is decided by the judge");
	load = load_of(machine, 1, 450 * MS, 550 * MS);
	ok(near(load.total_pct, 75) && near(load.user_pct, 70) && near(load.system_pct, 5),
	   "across a reading");
	ok(near(load.psi_cpu_pct, 50) && near(load.psi_memory_pct, 50) &&
		   near(load.steal_pct, 12.5),
	   "pressure and stolen time, too");
	load = load_of(machine, 1, 0, 5000 * MS);
	ok(near(load.user_pct, 100 * (2 * (160 + 500)) / 1800.0) && near(load.process_pct, 25),
	   "beyond the readings: the part within them");
	load = load_of(machine, 1, 2000 * MS, 3000 * MS);
	ok(load.total_pct < 0, "after all readings: unknown");
	load = load_of(machine, 1, 200 * MS, 200 * MS);
	ok(load.total_pct < 0, "so is an empty interval");
	load = load_of(machine, 2, 200 * MS, 300 * MS);
	ok(near(load.process_pct, 50) && near(load.total_pct, 50), "another process");
	load = load_of(machine, 2, 600 * MS, 700 * MS);
	ok(near(load.process_pct, 0), "an ended process uses nothing");
	load = load_of(machine, 3, 200 * MS, 300 * MS);
	ok(load.process_pct < 0 && load.total_pct > 0, "a process that never existed");
	load = load_of(machine, 4, 200 * MS, 300 * MS);
	ok(load.process_pct < 0, "a process that was not added");
	machine__add_process(machine, 1);
	load = load_of(machine, 1, 200 * MS, 300 * MS);
	ok(load.process_pct < 0, "a process that was added again");
	machine__drop_process(machine, 2);
	machine__drop_process(machine, 2);
	load = load_of(machine, 2, 200 * MS, 300 * MS);
	ok(load.process_pct < 0 && load.total_pct > 0, "a process that was dropped");
	machine__free(machine);
	machine__free(NULL);
}

/* An hour at 100 ms: bounded, exact for recent times, coarse for old ones. */
static void test_history(void)
{
	struct machine *machine = machine__new();
	struct machine_load load;
	bool right = true;

	machine__add_process(machine, 1);
	for (uint64_t ms = 100; ms <= 3600000; ms += 100)
		put(machine, ms * MS);
	load = load_of(machine, 1, 3599000 * MS, 3599025 * MS);
	ok(near(load.total_pct, 100) && near(load.process_pct, 25), "the last second of an hour");
	for (uint64_t ms = 1000000; ms < 3500000; ms += 100000) {
		load = load_of(machine, 1, ms * MS, 3600000 * MS);
		right &= near(load.total_pct, 100) && near(load.process_pct, 25);
	}
	ok(right, "dispatches of many minutes");
	load = load_of(machine, 1, 0, 3600000 * MS);
	ok(load.user_pct > 99.9 && load.system_pct >= 0, "from the beginning");
	machine__free(machine);
}

static uint64_t no_cpu(pid_t pid, void *ctx)
{
	(void)pid;
	(void)ctx;
	return UINT64_MAX;
}

static void test_odd_readings(void)
{
	struct machine *machine = machine__new();
	struct machine_reading reading = {
		.ticks = { .user = 50, .iowait = 50, .busy = 50, .total = 100, .cpus = 1 },
		.pressure_us = { MACHINE_UNKNOWN, 100, 100 },
	};
	struct machine_load load;

	machine__put(machine, 100, &reading, no_cpu, NULL);
	machine__put(machine, 200, &reading, no_cpu, NULL);
	load = load_of(machine, 1, 100, 200);
	ok(load.total_pct < 0, "no tick passed: unknown");
	reading = (struct machine_reading){
		.ticks = { .user = 60, .iowait = 40, .busy = 60, .total = 110, .cpus = 1 },
		.pressure_us = { 100, MACHINE_UNKNOWN, 300 },
	};
	machine__put(machine, 300, &reading, no_cpu, NULL);
	load = load_of(machine, 1, 200, 300);
	ok(near(load.iowait_pct, 0) && near(load.total_pct, 100),
	   "iowait that shrank counts as none");
	ok(load.psi_cpu_pct < 0 && load.psi_memory_pct < 0,
	   "pressure that one of two readings lacks");
	ok(near(load.psi_io_pct, 100), "pressure is all of the time at most");
	machine__free(machine);
}

static void burn(uint64_t ns)
{
	uint64_t end = clock__mono_ns() + ns;

	while (clock__mono_ns() < end)
		;
}

/* Unknown if the kernel has none. */
static void is_pressure(const char *name, double pct)
{
	char path[64], text[16];
	FILE *file;
	bool has;

	snprintf(path, sizeof(path), "/proc/pressure/%s", name);
	file = fopen(path, "r");
	has = file && fread(text, 1, sizeof(text), file) > 0;
	if (file)
		fclose(file);
	ok(has ? pct >= 0 && pct <= 100 : pct < 0, "pressure on %s: %.1f %%", name, pct);
}

static void test_live(void)
{
	struct machine *machine = machine__new();
	uint64_t total = 0, free_kb = 0, available = 0, start, end;
	struct machine_load load;
	double used;
	clock_t cpu;

	is_int(machine__add_process(machine, getpid()), 0, "this process");
	is_int(machine__read(machine, clock__mono_ns()), 0, "a reading");
	start = clock__mono_ns();
	cpu = clock();
	burn(150 * MS);
	usleep(50000);
	end = clock__mono_ns();
	used = (double)(clock() - cpu) / CLOCKS_PER_SEC;
	is_int(machine__read(machine, clock__mono_ns()), 0, "another");
	load = load_of(machine, getpid(), start, end);
	used = 100 * used / ((double)(end - start) / 1e9 * (double)sysconf(_SC_NPROCESSORS_ONLN));
	ok(fabs(load.process_pct - used) < 2,
	   "this process's share: %.1f %%, by its own clock %.1f %%", load.process_pct, used);
	ok(load.total_pct >= load.process_pct && load.total_pct <= 100.01, "the machine's: %.1f %%",
	   load.total_pct);
	ok(load.user_pct >= 0 && load.system_pct >= 0 && load.iowait_pct >= 0 &&
		   load.user_pct + load.system_pct + load.iowait_pct < 100.01,
	   "user %.1f %%, system %.1f %%, iowait %.1f %%", load.user_pct, load.system_pct,
	   load.iowait_pct);
	ok(load.steal_pct >= 0 && load.steal_pct < 100.01, "stolen: %.1f %%", load.steal_pct);
	is_pressure("cpu", load.psi_cpu_pct);
	is_pressure("memory", load.psi_memory_pct);
	is_pressure("io", load.psi_io_pct);
	is_int(machine__memory(&total, &free_kb, &available), 0, "memory");
	ok(total > free_kb && total > available && available > 0, "%llu KiB, %llu free",
	   (unsigned long long)total, (unsigned long long)free_kb);
	machine__free(machine);
}

static void test_exited(void)
{
	struct machine *machine = machine__new();
	struct machine_load load;
	uint64_t start, middle;
	pid_t pid = child__fork();
	struct timespec used;
	clockid_t clock;

	while (!pid)
		burn(60 * MS);
	machine__add_process(machine, pid);
	start = clock__mono_ns();
	machine__read(machine, start);
	clock_getcpuclockid(pid, &clock);
	do {
		usleep(10000);
		clock_gettime(clock, &used);
	} while (!used.tv_sec && used.tv_nsec < 20 * (long)MS &&
		 clock__mono_ns() < start + 10000 * MS);
	middle = clock__mono_ns();
	machine__read(machine, middle);
	child__end(pid);
	usleep(20000);
	is_int(machine__read(machine, clock__mono_ns()), 0, "a reading after a process's end");
	load = load_of(machine, pid, start, middle);
	ok(load.process_pct > 1, "what it used before is known: %.1f %%", load.process_pct);
	load = load_of(machine, pid, middle, clock__mono_ns());
	ok(near(load.process_pct, 0), "and nothing since");
	machine__free(machine);
}

int main(void)
{
	test_parse();
	test_pressure();
	test_load();
	test_history();
	test_odd_readings();
	test_live();
	test_exited();
	return tap__done();
}
