/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Throttled and stolen time, which the kernel counts, comes first. The preemptors divide the rest,
 * and then the state before: running or asleep.
 */
#include "verdict/blame.h"

#include <string.h>

#define IDLE_CPUS_MIN 0.25 /* idle time on other CPUs, in CPUs */

static bool is_better(const struct block *block, const struct other_task *task)
{
	return task->prio && block->facts.known && block->facts.prio &&
	       task->prio < block->facts.prio;
}

/* True if tasks of better priority had most of the time. */
static bool by_priority(const struct block *block)
{
	uint64_t better = 0, sum = 0;

	for (size_t i = 0; i < block->preemptor_cnt; i++) {
		sum += block->preemptors[i].ns;
		better += is_better(block, &block->preemptors[i]) ? block->preemptors[i].ns : 0;
	}
	return better > sum / 2;
}

/* True if bound to few CPUs: at most half of them, or fewer than all while other CPUs were idle. */
static bool by_affinity(const struct block *block)
{
	uint32_t allowed = block->facts.cpus_allowed, cpus = block->host.cpus;

	if (!block->facts.known || !allowed || allowed >= cpus)
		return false;
	if (allowed <= cpus / 2)
		return true;
	return block->live->cpu->has_total_pct &&
	       cpus * (100 - block->live->cpu->total_pct) / 100 >= IDLE_CPUS_MIN;
}

static double at_most(double ns, double limit)
{
	return ns < limit ? ns : limit;
}

size_t runnable__divide(const struct block *block, struct runnable_share *ret)
{
	double rest = block__runnable(block);
	double preempted = block->start_delay_ns, woken = 0, part;
	size_t cnt = 0;

	for (size_t i = 0; i < block->sample_cnt; i++) {
		if (block->samples[i].state == JANK_STATE_RUNNABLE)
			preempted += block->samples[i].ns;
		else
			woken += block->samples[i].runnable_ns;
	}
	part = at_most(block->start_frozen_ns, rest);
	ret[cnt++] = (struct runnable_share){ "frozen", part };
	rest -= part;
	preempted -= part;
	if (block->facts.known) {
		part = at_most(block->facts.throttled_ns, rest);
		ret[cnt++] = (struct runnable_share){ "throttled", part };
		rest -= part;
		part = at_most(block->facts.stolen_ns, rest);
		ret[cnt++] = (struct runnable_share){ "stolen", part };
		rest -= part;
	}
	if (by_priority(block)) {
		ret[cnt++] = (struct runnable_share){ "priority", rest };
	} else if (preempted + woken > 0) {
		part = rest * preempted / (preempted + woken);
		ret[cnt++] = (struct runnable_share){ by_affinity(block) ? "affinity" : "preempted",
						      part };
		ret[cnt++] = (struct runnable_share){ "wakeup_latency", rest - part };
	} else {
		ret[cnt++] = (struct runnable_share){ NULL, rest };
	}
	return cnt;
}

static enum runner who(const struct other_task *task, uint32_t pid)
{
	if (task->is_ours)
		return RUNNER_OURS;
	return task->pid == pid ? RUNNER_PEERS : RUNNER_OTHERS;
}

static bool is_alike(const struct other_task *a, const struct other_task *b, uint32_t pid)
{
	enum runner kind = who(a, pid);

	return kind == who(b, pid) && (kind != RUNNER_OTHERS || !strcmp(a->comm, b->comm));
}

/* Do both count as one: the same process, or thread of the waiting thread's process? */
static bool is_one(const struct other_task *a, const struct other_task *b, uint32_t pid)
{
	return who(a, pid) == RUNNER_PEERS ? a->tid == b->tid : a->pid == b->pid;
}

static bool is_first(const struct other_task *tasks, size_t nr, uint32_t pid)
{
	for (size_t i = 0; i < nr; i++)
		if (is_alike(&tasks[i], &tasks[nr], pid) && is_one(&tasks[i], &tasks[nr], pid))
			return false;
	return true;
}

static bool counts(const struct other_task *task, uint16_t than)
{
	return !than || (task->prio && task->prio < than);
}

static struct runners alike(const struct other_task *tasks, size_t cnt, uint32_t pid, uint16_t than,
			    const struct other_task *first)
{
	struct runners ret = { .who = who(first, pid), .task = first };

	for (size_t i = 0; i < cnt; i++) {
		const struct other_task *task = &tasks[i];

		if (!counts(task, than))
			continue;
		if (!is_alike(task, first, pid)) {
			ret.other_cnt++;
			continue;
		}
		ret.ns += task->ns;
		ret.cnt += is_first(tasks, i, pid);
		if (task->ns > ret.task->ns)
			ret.task = task;
	}
	return ret;
}

struct runners runners__of(const struct other_task *tasks, size_t cnt, uint32_t pid, uint16_t than)
{
	struct runners ret = { .task = NULL };

	for (size_t i = 0; i < cnt; i++) {
		struct runners each;

		if (!counts(&tasks[i], than))
			continue;
		each = alike(tasks, cnt, pid, than, &tasks[i]);
		if (each.ns > ret.ns || !ret.task)
			ret = each;
	}
	return ret;
}

bool runners__explain(const struct runners *runners, double ns)
{
	return runners->task && (double)runners->ns >= ns / 2;
}
