/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block as one JSON object: the contract's record. What isn't known is left out, never guessed;
 * schema.json says the same in a machine's words, and a test holds the two together.
 */
#include "export/json.h"
#include "base/clock.h"
#include "base/jsonw.h"
#include "export/json_parts.h"
#include "export/message.h"
#include "export/sink.h"

static void add_time(struct jsonw *w, const struct block *block)
{
	struct strbuf start = STRBUF_INIT;

	clock__add_rfc3339(&start, block->start_ns + (uint64_t)block->real_offset_ns);
	jsonw__kstr(w, "start", strbuf__str(&start));
	strbuf__free(&start);
	jsonw__ku64(w, "start_ns", block->start_ns);
	jsonw__ku64(w, "duration_ns", block->duration_ns);
	jsonw__ku64(w, "threshold_ns", block->threshold_ns);
}

static void add_host(struct jsonw *w, const struct host_info *host)
{
	jsonw__kobject(w, "host");
	jsonw__kstr_known(w, "name", host->name);
	jsonw__kstr_known(w, "kernel", host->kernel);
	jsonw__kstr_known(w, "arch", host->arch);
	jsonw__ku64(w, "cpus", host->cpus);
	jsonw__ku64(w, "mem_total_kb", host->mem_total_kb);
	jsonw__ku64(w, "mem_free_kb", host->mem_free_kb);
	jsonw__ku64(w, "mem_available_kb", host->mem_available_kb);
	jsonw__object_end(w);
}

static void add_who(struct jsonw *w, const struct block *block)
{
	jsonw__ku64(w, "pid", block->pid);
	jsonw__ku64(w, "tid", block->tid);
	jsonw__kstr_known(w, "process", block->process);
	jsonw__kstr_known(w, "thread", block->thread);
	jsonw__kstr_known(w, "exe", block->exe);
	if (block->uid != UINT32_MAX)
		jsonw__ku64(w, "uid", block->uid);
	jsonw__kstr_known(w, "cgroup", block->cgroup);
	jsonw__kstr_known(w, "container", block->container);
	jsonw__kstr_known(w, "pod", block->pod);
	jsonw__kstr_known(w, "unit", block->unit);
	if (block->ns_pid)
		jsonw__ku64(w, "ns_pid", block->ns_pid);
	jsonw__kstr(w, "loop", block__loop(block));
}

void json__add_time(struct jsonw *w, const uint64_t *state_ns)
{
	jsonw__kobject(w, "time");
	jsonw__ku64(w, "running_ns", state_ns[JANK_STATE_RUNNING]);
	jsonw__ku64(w, "runnable_ns", state_ns[JANK_STATE_RUNNABLE]);
	jsonw__kobject(w, "blocked_ns");
	for (uint32_t i = JANK_STATE_FIRST_BLOCKED; i < JANK_STATE_CNT; i++)
		if (state_ns[i])
			jsonw__ku64(w, state__name(i), state_ns[i]);
	jsonw__object_end(w);
	jsonw__object_end(w);
}

void json__add_lost(struct jsonw *w, const struct block_loss *lost, size_t cnt)
{
	jsonw__kobject(w, "lost");
	for (size_t i = 0; i < cnt; i++)
		jsonw__ku64(w, lost[i].reason, lost[i].cnt);
	jsonw__object_end(w);
}

void json__add_block(struct strbuf *sb, const struct block *block)
{
	struct jsonw w;

	jsonw__init(&w, sb);
	jsonw__object(&w);
	jsonw__kstr(&w, "type", block->type == BLOCK_HANG ? "hang" : "block");
	jsonw__kstr(&w, "schema", BLOCK_SCHEMA);
	jsonw__kstr_known(&w, "id", block->id);
	add_time(&w, block);
	add_host(&w, &block->host);
	add_who(&w, block);
	message__add_json(&w, block->message);
	jsonw__kstr(&w, "severity", block__severity(block));
	jsonw__ku64(&w, "dropped_frames", block->dropped_frames);
	json__add_frames(&w, &block->frames);
	jsonw__ku64(&w, "cpu_ns", block->cpu_ns);
	json__add_time(&w, block->state_ns);
	json__add_cause(&w, &block->cause);
	json__add_machine(&w, block);
	json__add_preemptors(&w, block->preemptors, block->preemptor_cnt);
	json__add_chain(&w, block);
	json__add_samples(&w, block);
	if (block->lost_cnt)
		json__add_lost(&w, block->lost, block->lost_cnt);
	jsonw__object_end(&w);
}
