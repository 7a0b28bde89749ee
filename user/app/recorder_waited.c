/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a block waited for, by name: of each span and each link of its chain, and who its other threads are. A span is
 * known again by its time, a link by its thread and time.
 */
#include "app/recorder_parts.h"

static void add_task(struct jsonw *w, const char *key, const struct other_task *task)
{
	if (!task->tid)
		return;
	jsonw__kobject(w, key);
	jsonw__ku64(w, "pid", task->pid);
	jsonw__ku64(w, "tid", task->tid);
	jsonw__kstr(w, "comm", task->comm);
	jsonw__object_end(w);
}

static bool is_named(const struct waited *waited)
{
	return waited && (waited->target || waited->path || waited->device || waited->peer ||
			  waited->peer_task.tid || waited->owner.tid);
}

static void add_waited(struct jsonw *w, const struct waited *waited)
{
	if (!is_named(waited))
		return;
	jsonw__kobject(w, "waited");
	jsonw__kstr_known(w, "target", waited->target);
	jsonw__kstr_known(w, "path", waited->path);
	jsonw__kstr_known(w, "device", waited->device);
	jsonw__kstr_known(w, "peer", waited->peer);
	add_task(w, "peer_task", &waited->peer_task);
	add_task(w, "owner", &waited->owner);
	jsonw__object_end(w);
}

/* The others are nobody's, or not known. */
static void add_cgroups(struct jsonw *w, const struct other_task *tasks, size_t cnt)
{
	jsonw__karray(w, "cgroups");
	for (size_t i = 0; i < cnt; i++) {
		if (!tasks[i].cgroup)
			continue;
		jsonw__object(w);
		jsonw__ku64(w, "tid", tasks[i].tid);
		jsonw__kstr(w, "cgroup", tasks[i].cgroup);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

static void add_spans(struct jsonw *w, const struct block *block)
{
	jsonw__karray(w, "spans");
	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];

		if (!is_named(sample->waited))
			continue;
		jsonw__object(w);
		jsonw__ku64(w, "t_ns", sample->t_ns);
		add_waited(w, sample->waited);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

static void add_links(struct jsonw *w, const struct block *block)
{
	jsonw__karray(w, "links");
	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct link *link = &block->chain[i];

		jsonw__object(w);
		jsonw__ku64(w, "tid", link->task.tid);
		jsonw__ku64(w, "t_ns", link->t_ns);
		jsonw__kstr_known(w, "process", link->process);
		add_waited(w, link->waited);
		add_cgroups(w, link->preemptors, link->preemptor_cnt);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

int recorder__waited(struct recorder *rec, const struct block *block)
{
	struct jsonw w;

	recorder__begin(rec, block, &w);
	add_spans(&w, block);
	add_links(&w, block);
	add_cgroups(&w, block->preemptors, block->preemptor_cnt);
	jsonw__ku64(&w, "cpu_capacity", block->facts.cpu_capacity);
	jsonw__ku64(&w, "cpu_khz", block->facts.cpu_khz);
	jsonw__ku64(&w, "cpu_max_khz", block->facts.cpu_max_khz);
	jsonw__kbool(&w, "thermal_throttled", block->facts.thermal_throttled);
	jsonw__kstr_known(&w, "quota_cgroup", block->facts.quota_cgroup);
	jsonw__ku64(&w, "quota_ns", block->facts.quota_ns);
	jsonw__ku64(&w, "quota_period_ns", block->facts.quota_period_ns);
	return recorder__write(rec, JOURNAL_WAITED, &w);
}
