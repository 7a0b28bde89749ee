/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Facts of a block: its CPU by the ticks, that CPU's sysfs values, and the cgroups of the
 * preemptors.
 */
#include "enrich/block_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "files/file.h"
#include "procfs/cgroup.h"
#include "procfs/host.h"
#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

static void put(const char *name, const char *content)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", scratch__path(name));
	*strrchr(path, '/') = 0;
	if (scratch__dirs(path))
		abort();
	scratch__write_text(name, content);
}

#define CPU "devices/system/cpu/cpu3/"

static void test_speed(void)
{
	struct cpu_info info;

	put(CPU "cpu_capacity", "446\n");
	put(CPU "cpufreq/scaling_cur_freq", "806400\n");
	put(CPU "cpufreq/cpuinfo_max_freq", "2016000\n");
	cpuinfo__read(scratch__path(""), 3, &info);
	is_uint(info.capacity, 446, "a small core");
	is_uint(info.khz, 806400, "its frequency");
	is_uint(info.max_khz, 2016000, "its maximum");
	cpuinfo__read(scratch__path(""), 4, &info);
	ok(!info.capacity && !info.khz && !info.max_khz, "a CPU without sysfs values");
	put(CPU "cpu_capacity", "-1\n");
	put(CPU "cpufreq/scaling_cur_freq", "<unknown>\n");
	put(CPU "cpufreq/cpuinfo_max_freq", "99999999999\n");
	cpuinfo__read(scratch__path(""), 3, &info);
	ok(!info.capacity && !info.khz && !info.max_khz, "invalid numbers");
}

static void test_node(void)
{
	uint32_t node = 7;

	put(CPU "node1/meminfo", "");
	put(CPU "nodes", "");
	ok(cpuinfo__node(scratch__path(""), 3, &node) && node == 1, "a CPU's node: %u", node);
	ok(!cpuinfo__node(scratch__path(""), 4, &node), "a CPU without a node");
}

static void test_choice(void)
{
	struct sample samples[] = {
		{ .state = JANK_STATE_RUNNING, .cpu = 1 },
		{ .state = JANK_STATE_DISK, .cpu = 2, .ns = 5 },
		{ .state = JANK_STATE_RUNNING, .cpu = 4095 },
		{ .state = JANK_STATE_RUNNABLE, .cpu = 2, .ns = 5 },
		{ .state = JANK_STATE_RUNNING, .cpu = 4095 },
		{ .state = JANK_STATE_RUNNING, .cpu = UINT32_MAX },
		{ .state = JANK_STATE_RUNNING, .cpu = UINT32_MAX },
		{ .state = JANK_STATE_RUNNING, .cpu = UINT32_MAX },
	};
	struct block block = { .samples = samples, .sample_cnt = 8 };
	uint32_t cpu = 7;

	ok(block_facts__cpu(&block, &cpu) && cpu == 4095, "the CPU with most ticks");
	block.sample_cnt = 1;
	ok(block_facts__cpu(&block, &cpu) && cpu == 1, "the only CPU with ticks");
	block = (struct block){ .samples = samples + 1, .sample_cnt = 1 };
	ok(!block_facts__cpu(&block, &cpu), "spans off the CPU don't count");
}

static const struct {
	const char *text, *want, *what;
} cgroups[] = {
	{ "0::/user.slice/a b\n", "/user.slice/a b", "version 2" },
	{ "4:memory:/m\n2:cpu,cpuacct:/quota\n1:name=systemd:/s\n0::/v2\n", "/quota",
	  "version 1's controller comes first" },
	{ "3:cpuacct:/no\n2:cpuset,cpu:/yes\n0::/v2\n", "/yes", "among others" },
	{ "3:cpuset:/no\n2:cpuacct:/no\n0::/v2\n", "/v2",
	  "but not controllers with a similar name" },
	{ "4:memory:/m\n2:cpu:/\n1:name=systemd:/s\n0::/\n", "/s",
	  "any other rather than the root" },
	{ "2:cpu:/\n0::/\n", "/", "the root" },
	{ "0::/a:b\n", "/a:b", "a colon in a path" },
	{ "2:devices:/x\n", NULL, "no controller of CPU time" },
	{ "", NULL, "nothing" },
	{ "\n:\n::\n2:cpu\n2:cpu:\n0::x\n", NULL, "torn lines" },
};

static void test_cgroups(void)
{
	for (size_t i = 0; i < sizeof(cgroups) / sizeof(*cgroups); i++) {
		char *text = strdup(cgroups[i].text);

		is_str(cgroup_cpu__parse(text), cgroups[i].want, "a cgroup: %s", cgroups[i].what);
		free(text);
	}
}

static void is_quota(const char *path, const char *want, uint64_t quota_ms, const char *what)
{
	struct cgroup_quota quota = { 0 };
	char *at = strdup(path);
	bool found = cgroup_cpu__quota(scratch__path("cgroup"), at, &quota);

	is_str(found ? at : NULL, want, "%s", what);
	is_uint(quota.quota_ns, quota_ms * NS_PER_MS, "its quota");
	free(at);
}

static void test_quota(void)
{
	put("cgroup/cpu/a/cpu.cfs_quota_us", "20000\n");
	put("cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	put("cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
	put("cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
	put("cgroup/cpu/a/c/cpu.cfs_quota_us", "30000\n");
	put("cgroup/cpu/a/c/cpu.cfs_period_us", "50000\n");
	put("cgroup/v2/cpu.max", "max 100000\n");
	put("cgroup/v2/pod/cpu.max", "50000 100000\n");
	put("cgroup/v2/pod/task/cpu.max", "10000 100000\n");
	put("cgroup/v2/torn/cpu.max", "500");
	is_quota("/a", "/a", 20, "version 1's");
	is_quota("/a/b", "/a", 20, "without its own quota: the parent's");
	is_quota("/a/c", "/a", 20, "with a parent of less");
	is_quota("/a/gone", "/a", 20, "a removed cgroup");
	is_quota("/v2", NULL, 0, "no limit");
	is_quota("/v2/pod", "/v2/pod", 50, "version 2's");
	is_quota("/v2/pod/task", "/v2/pod/task", 10, "with a parent of more");
	is_quota("/v2/torn", NULL, 0, "a torn file");
	is_quota("/", NULL, 0, "the root has none");
	is_quota("/../a", NULL, 0, "outside of our namespace");
	is_quota("", NULL, 0, "no path");
}

static void is_left(const char *list, uint64_t want, const char *what)
{
	uint64_t left;

	put("list", list);
	left = cgroup_memory__left(scratch__path("memory"), scratch__path("list"));
	is_uint(left, want, "memory left: %s", what);
}

static void test_memory(void)
{
	put("memory/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("memory/memory/memory.usage_in_bytes", "9999\n");
	put("memory/memory/a/memory.limit_in_bytes", "1000\n");
	put("memory/memory/a/memory.usage_in_bytes", "900\n");
	put("memory/memory/a/memory.stat",
	    "cache 1\ntotal_inactive_file 300\ntotal_active_file 50\n");
	put("memory/memory/a/b/memory.limit_in_bytes", "800\n");
	put("memory/memory/a/b/memory.usage_in_bytes", "100\n");
	put("memory/v2/memory.max", "1000\n");
	put("memory/v2/memory.current", "300\n");
	put("memory/v2/memory.stat", "anon 5\ninactive_file 100\n");
	put("memory/v2/pod/memory.max", "max\n");
	put("memory/v2/pod/memory.current", "200\n");
	put("memory/full/memory.max", "100\n");
	put("memory/full/memory.current", "120\n");
	is_left("3:cpu:/\n2:memory:/a\n0::/none\n", 450, "version 1, without pages of files");
	is_left("2:memory:/a/b\n", 450, "a parent allows less");
	is_left("0::/v2\n", 800, "version 2");
	is_left("0::/v2/pod\n", 800, "no limit of its own");
	is_left("0::/full\n", 0, "none");
	is_left("2:memory:/\n", 9223372036854771712ull - 9999, "no limit in version 1");
	is_left("0::/\n", UINT64_MAX, "the root");
	is_left("0::/../v2\n", UINT64_MAX, "outside of our namespace");
	is_left("x\n2:memory\n", UINT64_MAX, "torn lines");
}

static void test_live(void)
{
	pid_t child = child__start(NULL, NULL), gone = child__on_exit();
	struct other_task tasks[] = { { .pid = (uint32_t)child, .tid = (uint32_t)child },
				      { .pid = (uint32_t)gone, .tid = (uint32_t)gone } };
	struct link link = { .preemptors = tasks + 1, .preemptor_cnt = 1 };
	struct sample sample = { .state = JANK_STATE_RUNNING };
	struct block block = { .preemptors = tasks,
			       .preemptor_cnt = 1,
			       .chain = &link,
			       .chain_cnt = 1,
			       .samples = &sample,
			       .sample_cnt = 1 };
	struct block *fresh = block__new();
	bool has_capacity = !access("/sys/devices/system/cpu/cpu0/cpu_capacity", R_OK);
	uint64_t begin;

	block.live = fresh->live;
	begin = clock__thread_ns();
	is_int(block_facts__fill(&block), 0, "a block");
	diag("%llu µs", (unsigned long long)(clock__thread_ns() - begin) / 1000);
	ok(tasks[0].cgroup && tasks[0].cgroup[0] == '/', "a preemptor's cgroup: %s",
	   tasks[0].cgroup);
	is_str(tasks[1].cgroup, NULL, "an ended thread of the chain has none");
	ok(has_capacity == (block.live->scheduling->cpu_capacity > 0),
	   "the first CPU's capacity: %u", block.live->scheduling->cpu_capacity);
	ok(block.live->scheduling->has_numa_node == !access("/sys/devices/system/node/node0", F_OK),
	   "the first CPU has a node if the kernel has nodes");
	child__end(child);
	free(tasks[0].cgroup);
	block__free(fresh);
}

int main(void)
{
	scratch__init();
	test_speed();
	test_node();
	test_choice();
	test_cgroups();
	test_quota();
	test_memory();
	test_live();
	return tap__done();
}
