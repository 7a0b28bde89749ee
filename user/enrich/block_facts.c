/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of a block from the live system. Reads the cgroup of the worst preemptors only: it costs 20
 * µs each.
 */
#include "enrich/block_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/own_process.h"
#include "base/proto.h"
#include "procfs/cgroup.h"
#include "procfs/host.h"
#include "procfs/network.h"
#include "procfs/procinfo.h"

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
	Jankbpf__Scheduling *live = block->live->scheduling;
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
	Jankbpf__Scheduling *live = block->live->scheduling;
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
	Jankbpf__Scheduling *live = block->live->scheduling;
	struct cgroup_quota quota = { 0 };
	char *path;
	int res;

	if (!block->facts.throttled_ns || live->quota_cgroup)
		return 0;
	res = cgroup_cpu__path("/proc", block->pid, block->tid, &path);
	if (!path || !cgroup_cpu__quota("/sys/fs/cgroup", path, &quota)) {
		free(path);
		return res;
	}
	live->quota_cgroup = path;
	SET_KNOWN(live, quota_ns, quota.quota_ns);
	SET_KNOWN(live, quota_period_ns, quota.period_ns);
	return 0;
}

static int set_tasks(struct other_task *tasks, size_t cnt)
{
	int res = 0;

	for (size_t i = 0; i < cnt; i++)
		tasks[i].is_ours = own_process__has((pid_t)tasks[i].pid);
	for (size_t i = 0; i < cnt && i < ASKED_MAX && !res; i++)
		if (!tasks[i].cgroup)
			res = cgroup_cpu__path("/proc", tasks[i].pid, tasks[i].tid,
					       &tasks[i].cgroup);
	return res;
}

static int set_network(struct block *block)
{
	const char *type = network__type("/proc", "/sys");

	if (!type || block->live->network)
		return 0;
	block->live->network = strdup(type);
	return block->live->network ? 0 : -ENOMEM;
}

int block_facts__fill(struct block *block)
{
	int res = set_tasks(block->preemptors, block->preemptor_cnt);

	if (!res && !block->live->role)
		res = procrole__read(block->pid, &block->live->role);
	if (!res)
		res = set_network(block);
	set_cpu(block);
	set_node(block);
	if (!res)
		res = set_quota(block);
	for (size_t i = 0; i < block->chain_cnt && !res; i++) {
		struct link *link = &block->chain[i];

		res = set_tasks(link->preemptors, link->preemptor_cnt);
	}
	return res;
}
