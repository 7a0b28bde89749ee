/* SPDX-License-Identifier: GPL-2.0 */
/* Copies: a block owns what it waited for, the journal's tree lives on. */
#include "app/recorded_waited.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/recorded_parts.h"

/* What was filled before stays. */
static int copy_text(char **ret, const json_t *json, const char *key)
{
	const char *text = recorded__text(json, key);

	if (!text || *ret)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static void copy_task(struct other_task *ret, const json_t *json, const char *key)
{
	const json_t *task = json_object_get(json, key);
	const char *comm = recorded__text(task, "comm");

	ret->pid = recorded__number(task, "pid");
	ret->tid = recorded__number(task, "tid");
	snprintf(ret->comm, sizeof(ret->comm), "%s", comm ? comm : "");
}

static int copy_waited(struct waited *waited, const json_t *json)
{
	const json_t *names = json_object_get(json, "waited");

	if (!waited || !names)
		return 0;
	copy_task(&waited->peer_task, names, "peer_task");
	copy_task(&waited->owner, names, "owner");
	if (copy_text(&waited->target, names, "target") ||
	    copy_text(&waited->path, names, "path") ||
	    copy_text(&waited->device, names, "device") || copy_text(&waited->peer, names, "peer"))
		return -ENOMEM;
	return 0;
}

static struct other_task *find_task(struct other_task *tasks, size_t cnt, uint64_t tid)
{
	for (size_t i = 0; i < cnt; i++)
		if (tasks[i].tid == tid)
			return &tasks[i];
	return NULL;
}

static int copy_cgroups(struct other_task *tasks, size_t cnt, const json_t *json)
{
	const json_t *list = json_object_get(json, "cgroups");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *each = json_array_get(list, i);
		struct other_task *task = find_task(tasks, cnt, recorded__number(each, "tid"));

		if (task && copy_text(&task->cgroup, each, "cgroup"))
			return -ENOMEM;
	}
	return 0;
}

/* A span by its time: of ticks at the same there is nothing to fill. */
static struct waited *find_span(struct block *block, uint64_t t_ns)
{
	for (size_t i = 0; i < block->sample_cnt; i++)
		if (block->samples[i].t_ns == t_ns && block->samples[i].waited)
			return block->samples[i].waited;
	return NULL;
}

static int copy_spans(struct block *block, const json_t *list)
{
	int res = 0;

	for (size_t i = 0; i < json_array_size(list) && !res; i++) {
		const json_t *span = json_array_get(list, i);

		res = copy_waited(find_span(block, recorded__number(span, "t_ns")), span);
	}
	return res;
}

static struct link *find_link(struct block *block, const json_t *json)
{
	for (size_t i = 0; i < block->chain_cnt; i++)
		if (block->chain[i].task.tid == recorded__number(json, "tid") &&
		    block->chain[i].t_ns == recorded__number(json, "t_ns"))
			return &block->chain[i];
	return NULL;
}

static int copy_link(struct link *link, const json_t *json)
{
	int res;

	if (!link)
		return 0;
	res = copy_text(&link->process, json, "process");
	if (!res)
		res = copy_waited(link->waited, json);
	if (!res)
		res = copy_cgroups(link->preemptors, link->preemptor_cnt, json);
	return res;
}

static int copy_links(struct block *block, const json_t *list)
{
	int res = 0;

	for (size_t i = 0; i < json_array_size(list) && !res; i++) {
		const json_t *link = json_array_get(list, i);

		res = copy_link(find_link(block, link), link);
	}
	return res;
}

int recorded_waited__fill(struct block *block, const json_t *json)
{
	int res;

	block->facts.cpu_capacity = recorded__number(json, "cpu_capacity");
	block->facts.cpu_khz = recorded__number(json, "cpu_khz");
	block->facts.cpu_max_khz = recorded__number(json, "cpu_max_khz");
	block->facts.thermal_throttled = json_is_true(json_object_get(json, "thermal_throttled"));
	block->facts.quota_ns = recorded__number(json, "quota_ns");
	block->facts.quota_period_ns = recorded__number(json, "quota_period_ns");
	res = copy_text(&block->facts.quota_cgroup, json, "quota_cgroup");
	if (!res)
		res = copy_spans(block, json_object_get(json, "spans"));
	if (!res)
		res = copy_links(block, json_object_get(json, "links"));
	if (!res)
		res = copy_cgroups(block->preemptors, block->preemptor_cnt, json);
	return res;
}
