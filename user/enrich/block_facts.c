/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the cgroup of the worst preemptors only: it costs 20 µs each. */
#include "enrich/block_facts.h"

#include <stdlib.h>

#include "procfs/cgroup.h"
#include "procfs/host.h"
#include "procfs/procinfo.h"

#define SET_KNOWN(message, field, value)                                                           \
	((message)->has_##field = !!(value), (message)->field = (value))
#define ASKED_MAX 4
#define CPU_MAX	  4096
#define NODE_MAX  1024 /* the kernel's own limit */

static bool is_tick(const struct sample *sample)
{
	return !sample->ns && sample->state == JANK_STATE_RUNNING && sample->cpu < CPU_MAX;
}

bool block_facts__cpu(const struct block *block, uint32_t *ret)
{
	uint32_t cnt[CPU_MAX] = { 0 }, best = 0;

	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];

		if (is_tick(sample) && ++cnt[sample->cpu] > best) {
			best = cnt[sample->cpu];
			*ret = sample->cpu;
		}
	}
	return best;
}

/* Sets the node with most ticks. CPUs of unknown nodes do not count. */
static void set_node(struct block *block)
{
	Jankbpf__Scheduling *live = &block->facts.live;
	uint32_t cnt[NODE_MAX] = { 0 }, best = 0, cpu = UINT32_MAX, node = 0;
	bool known = false;

	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];

		if (!is_tick(sample))
			continue;
		if (sample->cpu != cpu) { /* successive ticks mostly share a CPU: look it up once */
			cpu = sample->cpu;
			known = cpuinfo__node("/sys", cpu, &node) && node < NODE_MAX;
		}
		if (!known || ++cnt[node] <= best)
			continue;
		best = cnt[node];
		live->has_numa_node = true;
		live->numa_node = node;
	}
}

static void set_cpu(struct block *block)
{
	Jankbpf__Scheduling *live = &block->facts.live;
	struct cpu_info info;
	uint32_t cpu;

	if (!block_facts__cpu(block, &cpu))
		return;
	cpuinfo__read("/sys", cpu, &info);
	SET_KNOWN(live, cpu_capacity, info.capacity);
	SET_KNOWN(live, cpu_khz, info.khz);
	SET_KNOWN(live, cpu_max_khz, info.max_khz);
}

/*
 * The task may have moved to another cgroup, or lost its quota, since the block: then leave the
 * current cgroup out.
 */
static int set_quota(struct block *block)
{
	struct facts *facts = &block->facts;
	struct cgroup_quota quota = { 0 };
	char *path;
	int res;

	if (!facts->throttled_ns || facts->live.quota_cgroup)
		return 0;
	res = cgroup_cpu__path("/proc", block->pid, block->tid, &path);
	if (!path || !cgroup_cpu__quota("/sys/fs/cgroup", path, &quota)) {
		free(path);
		return res;
	}
	facts->live.quota_cgroup = path;
	SET_KNOWN(&facts->live, quota_ns, quota.quota_ns);
	SET_KNOWN(&facts->live, quota_period_ns, quota.period_ns);
	return 0;
}

static int set_cgroups(struct other_task *tasks, size_t cnt)
{
	int res = 0;

	for (size_t i = 0; i < cnt && i < ASKED_MAX && !res; i++)
		if (!tasks[i].cgroup)
			res = cgroup_cpu__path("/proc", tasks[i].pid, tasks[i].tid,
					       &tasks[i].cgroup);
	return res;
}

int block_facts__fill(struct block *block)
{
	int res = set_cgroups(block->preemptors, block->preemptor_cnt);

	if (!res && !block->role)
		res = procrole__read(block->pid, &block->role);
	set_cpu(block);
	set_node(block);
	if (!res)
		res = set_quota(block);
	for (size_t i = 0; i < block->chain_cnt && !res; i++) {
		struct link *link = &block->chain[i];

		res = set_cgroups(link->preemptors, link->preemptor_cnt);
	}
	return res;
}
