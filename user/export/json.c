/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block as one JSON object: the contract's record. What isn't known is left out, never guessed;
 * schema.json says the same in a machine's words, and a test holds the two together.
 */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/jsonw.h"
#include "export/frame.h"
#include "export/json.h"
#include "export/message.h"
#include "export/quality.h"
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

static void add_account(struct jsonw *w, const struct block *block)
{
	jsonw__kobject(w, "time");
	jsonw__ku64(w, "running_ns", block->state_ns[JANK_STATE_RUNNING]);
	jsonw__ku64(w, "runnable_ns", block->state_ns[JANK_STATE_RUNNABLE]);
	jsonw__kobject(w, "blocked_ns");
	for (uint32_t i = JANK_STATE_FIRST_BLOCKED; i < JANK_STATE_CNT; i++)
		if (block->state_ns[i])
			jsonw__ku64(w, state__name(i), block->state_ns[i]);
	jsonw__object_end(w);
	jsonw__object_end(w);
}

/*
 * An address is a string: JSON's readers keep 53 bits of a number, and a kernel address has 64.
 * It stands only where the frame has neither function nor module.
 */
static void add_frame(struct jsonw *w, const struct frame *frame)
{
	char address[2 + 16 + 1];

	jsonw__object(w);
	jsonw__kstr_known(w, "function", frame->function);
	if (frame->function || frame->module) {
		jsonw__ku64(w, "offset", frame->offset);
	} else {
		snprintf(address, sizeof(address), "0x%llx", (unsigned long long)frame->address);
		jsonw__kstr(w, "address", address);
	}
	jsonw__kstr_known(w, "module", frame->module);
	jsonw__kstr_known(w, "build_id", frame->build_id);
	jsonw__kstr_known(w, "file", frame->file);
	if (frame->file && frame->line)
		jsonw__ku64(w, "line", frame->line);
	if (frame->inlined)
		jsonw__kbool(w, "inlined", true);
	if (frame->kernel)
		jsonw__kbool(w, "kernel", true);
	jsonw__object_end(w);
}

static void add_cause(struct jsonw *w, const struct cause *cause)
{
	if (!cause->kind)
		return;
	jsonw__kobject(w, "cause");
	jsonw__kstr(w, "kind", cause->kind);
	jsonw__kfixed(w, "share", cause__share(cause), 4);
	if (cause->frame) {
		jsonw__key(w, "frame");
		add_frame(w, cause->frame);
	}
	if (cause->signature[0])
		jsonw__kstr(w, "signature", cause->signature);
	jsonw__object_end(w);
}

static void add_pct(struct jsonw *w, const char *key, double pct)
{
	if (pct >= 0 && isfinite(pct))
		jsonw__kfixed(w, key, pct, 1);
}

static void add_load(struct jsonw *w, const struct machine_load *load)
{
	jsonw__kobject(w, "cpu");
	jsonw__kbool(w, "busy", load->busy);
	add_pct(w, "total_pct", load->total_pct);
	add_pct(w, "process_pct", load->process_pct);
	add_pct(w, "user_pct", load->user_pct);
	add_pct(w, "system_pct", load->system_pct);
	add_pct(w, "iowait_pct", load->iowait_pct);
	jsonw__object_end(w);
}

static void add_task(struct jsonw *w, const struct other_task *task)
{
	jsonw__ku64(w, "pid", task->pid);
	jsonw__ku64(w, "tid", task->tid);
	jsonw__kstr(w, "comm", task->comm);
}

static void add_preemptors(struct jsonw *w, const struct block *block)
{
	jsonw__karray(w, "preemptors");
	for (size_t i = 0; i < block->preemptor_cnt; i++) {
		jsonw__object(w);
		add_task(w, &block->preemptors[i]);
		jsonw__ku64(w, "ns", block->preemptors[i].ns);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
}

static void add_waker(struct jsonw *w, const struct sample *sample)
{
	if (!sample->has_waker)
		return;
	jsonw__kobject(w, "waker");
	add_task(w, &sample->waker);
	if (sample->waker_softirq)
		jsonw__kbool(w, "softirq", true);
	jsonw__object_end(w);
}

static void add_stack(struct jsonw *w, const struct stack *stack)
{
	size_t cnt = stack__frame_cnt(stack);

	jsonw__karray(w, "stack");
	for (size_t i = 0; i < cnt; i++) {
		struct frame frame = stack__frame(stack, i);

		add_frame(w, &frame);
	}
	jsonw__array_end(w);
}

static void add_sample(struct jsonw *w, const struct sample *sample)
{
	jsonw__object(w);
	jsonw__ku64(w, "t_ns", sample->t_ns);
	jsonw__kstr(w, "state", state__name(sample->state));
	if (sample->ns)
		jsonw__ku64(w, "ns", sample->ns);
	if (sample->runnable_ns)
		jsonw__ku64(w, "runnable_ns", sample->runnable_ns);
	if (sample->open)
		jsonw__kbool(w, "open", true);
	jsonw__kstr_known(w, "syscall", sample->syscall_name);
	add_waker(w, sample);
	add_stack(w, &sample->stack);
	jsonw__object_end(w);
}

static void add_samples(struct jsonw *w, const struct block *block)
{
	struct strbuf quality = STRBUF_INIT;

	jsonw__karray(w, "samples");
	for (size_t i = 0; i < block->sample_cnt; i++)
		add_sample(w, &block->samples[i]);
	jsonw__array_end(w);
	quality__add(&quality, block->stack_quality);
	jsonw__kstr(w, "stack_quality", strbuf__str(&quality));
	strbuf__free(&quality);
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
	jsonw__ku64(&w, "cpu_ns", block->cpu_ns);
	add_account(&w, block);
	add_cause(&w, &block->cause);
	add_load(&w, &block->load);
	add_preemptors(&w, block);
	add_samples(&w, block);
	if (block->lost_cnt)
		json__add_lost(&w, block->lost, block->lost_cnt);
	jsonw__object_end(&w);
}
