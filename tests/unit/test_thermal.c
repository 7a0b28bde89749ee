/* SPDX-License-Identifier: GPL-2.0 */
/* CPUs throttled for heat: by made-up trees of sysfs, then the cost on this machine. */
#include "procfs/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "enrich/machine.h"
#include "files/file.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

#define MS	NS_PER_MS
#define CPUS	"devices/system/cpu/"
#define COOLING "class/thermal/cooling_device"

static void put(const char *sys, const char *name, const char *content)
{
	char path[PATH_MAX], folder[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", sys, name);
	snprintf(folder, sizeof(folder), "%s", scratch__path(path));
	*strrchr(folder, '/') = 0;
	if (scratch__dirs(folder))
		abort();
	scratch__write_text(path, content);
}

/* Four CPUs in two packages: 0 and 1, 2 and 3. */
static void make_x86(void)
{
	for (int cpu = 0; cpu < 4; cpu++) {
		char name[128];

		snprintf(name, sizeof(name), CPUS "cpu%d/topology/physical_package_id", cpu);
		put("x86", name, cpu < 2 ? "0\n" : "1\n");
		snprintf(name, sizeof(name), CPUS "cpu%d/thermal_throttle/core_throttle_count",
			 cpu);
		put("x86", name, "7\n");
		snprintf(name, sizeof(name), CPUS "cpu%d/thermal_throttle/package_throttle_count",
			 cpu);
		put("x86", name, "100\n");
	}
}

static uint32_t on(const struct thermal *throttle, const uint32_t *before, const uint32_t *after)
{
	uint32_t active = thermal__active(throttle, before, after), ret = 0;

	for (uint32_t cpu = 0; cpu < 8; cpu++)
		ret |= active & thermal__of(throttle, cpu) ? 1u << cpu : 0;
	return ret;
}

static void test_counts(void)
{
	uint32_t first[THROTTLE_MAX], second[THROTTLE_MAX], third[THROTTLE_MAX];
	struct thermal *throttle;

	make_x86();
	throttle = thermal__open(scratch__path("x86"));
	ok(throttle, "a machine with counters");
	thermal__read(throttle, first);
	thermal__read(throttle, second);
	is_uint(on(throttle, first, second), 0, "nothing happens");
	put("x86", CPUS "cpu2/thermal_throttle/core_throttle_count", "8\n");
	thermal__read(throttle, second);
	is_uint(on(throttle, first, second), 1 << 2, "a core");
	put("x86", CPUS "cpu0/thermal_throttle/package_throttle_count", "103\n");
	thermal__read(throttle, third);
	is_uint(on(throttle, second, third), 1 << 0 | 1 << 1, "a package: both of its cores");
	put("x86", CPUS "cpu2/thermal_throttle/core_throttle_count", "");
	thermal__read(throttle, second);
	is_uint(on(throttle, third, second), 0, "a CPU that goes offline");
	is_uint(on(throttle, second, third), 0, "and comes back");
	put("x86", CPUS "cpu2/thermal_throttle/core_throttle_count", "99999999999999999999\n");
	put("x86", CPUS "cpu3/thermal_throttle/core_throttle_count", "-1\n");
	thermal__read(throttle, second);
	is_uint(on(throttle, third, second), 0, "no counters");
	thermal__close(throttle);
}

static void test_cooling(void)
{
	uint32_t idle[THROTTLE_MAX], one[THROTTLE_MAX], both[THROTTLE_MAX];
	struct thermal *throttle;

	put("arm", COOLING "0/type", "gpu\n");
	put("arm", COOLING "0/cur_state", "3\n");
	put("arm", COOLING "2/type", "cpufreq-cpu4\n");
	put("arm", COOLING "2/cur_state", "0\n");
	put("arm", COOLING "3/type", "thermal-cpufreq-0\n");
	put("arm", COOLING "3/cur_state", "0\n");
	put("arm", CPUS "cpu5/cpufreq/related_cpus", "4 5 \n");
	put("arm", CPUS "cpu0/cpufreq/related_cpus", "0 1 2 3\n");
	throttle = thermal__open(scratch__path("arm"));
	thermal__read(throttle, idle);
	is_uint(on(throttle, idle, idle), 0, "another device's throttling is not the CPUs'");
	put("arm", COOLING "2/cur_state", "2\n");
	thermal__read(throttle, one);
	is_uint(on(throttle, idle, one), 1 << 4 | 1 << 5, "the large cores, from some time on");
	is_uint(on(throttle, one, one), 1 << 4 | 1 << 5, "all the time");
	is_uint(on(throttle, one, idle), 1 << 4 | 1 << 5, "up to some time");
	put("arm", COOLING "3/cur_state", "1\n");
	thermal__read(throttle, both);
	is_uint(on(throttle, idle, both), 0xff, "cooling of processors without CPU numbers");
	thermal__close(throttle);
}

static void test_bounds(void)
{
	uint32_t values[THROTTLE_MAX];
	struct thermal *throttle;
	char name[128];

	ok(!thermal__open(scratch__path("none")), "a machine without any of it");
	thermal__read(NULL, values);
	ok(!thermal__active(NULL, values, values) && !thermal__of(NULL, 0), "has none");
	for (int cpu = 0; cpu < 40; cpu++) {
		snprintf(name, sizeof(name), CPUS "cpu%d/topology/physical_package_id", cpu);
		put("many", name, "0\n");
		snprintf(name, sizeof(name), CPUS "cpu%d/thermal_throttle/core_throttle_count",
			 cpu);
		put("many", name, "0\n");
	}
	put("many", CPUS "cpu0/thermal_throttle/package_throttle_count", "5\n");
	throttle = thermal__open(scratch__path("many"));
	is_uint(thermal__of(throttle, 39), 1, "of many CPUs the last ones count by their package");
	is_uint(thermal__of(throttle, 1), 5, "the first ones also by themselves");
	thermal__close(throttle);
	thermal__close(NULL);
}

static void read_at(struct machine *machine, uint64_t now_ns)
{
	if (machine__read(machine, now_ns))
		ok(false, "a reading");
}

static void test_machine(void)
{
	struct machine *machine = machine__new();
	const uint64_t second = NS_PER_SEC;

	make_x86();
	ok(!machine__throttled(machine, 3, 0, UINT64_MAX), "no readings");
	machine__watch_heat(machine, scratch__path("x86"));
	read_at(machine, 1 * second);
	ok(!machine__throttled(machine, 3, 0, 5 * second), "only one reading");
	read_at(machine, 2 * second);
	put("x86", CPUS "cpu3/thermal_throttle/core_throttle_count", "8\n");
	read_at(machine, 3 * second);
	read_at(machine, 4 * second);
	ok(machine__throttled(machine, 3, 2 * second + MS, 3 * second - MS),
	   "at the time when it was");
	ok(!machine__throttled(machine, 2, 2 * second + MS, 3 * second - MS), "not another CPU");
	ok(machine__throttled(machine, 3, 0, 9 * second), "in a larger interval");
	ok(machine__throttled(machine, 3, 2 * second + MS, 9 * second), "from there on");
	ok(!machine__throttled(machine, 3, 1 * second + MS, 2 * second - MS), "before");
	ok(!machine__throttled(machine, 3, 3 * second + MS, 9 * second), "after");
	ok(!machine__throttled(machine, 3, 7 * second, 9 * second), "beyond all readings");
	ok(!machine__throttled(machine, 3, 0, second), "before all");
	machine__free(machine);
}

static void test_cost(void)
{
	uint32_t values[THROTTLE_MAX];
	struct thermal *throttle = thermal__open(scratch__path("many"));
	uint64_t begin = clock__thread_ns();

	for (int i = 0; i < 1000; i++)
		thermal__read(throttle, values);
	diag("a reading of %u files: %.1f µs", THROTTLE_MAX,
	     (double)(clock__thread_ns() - begin) / 1e6);
	thermal__close(throttle);
}

int main(void)
{
	scratch__init();
	test_counts();
	test_cooling();
	test_bounds();
	test_machine();
	test_cost();
	return tap__done();
}
