/* SPDX-License-Identifier: GPL-2.0 */
/* Each address of each process is written once, with the frames that it stands for. */
#include "app/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#include "base/jsonw.h"

#define SEEN_MAX   65536 /* then begun anew: names may come twice, none is missing */
#define PCT_DIGITS 12	 /* what is rounded again for a record must not be rounded here */

struct key {
	uint64_t address;
	uint64_t pid; /* 0 for the kernel */
};

struct seen {
	struct key key;
	UT_hash_handle hh;
};

struct recorder {
	struct journal_writer *jw;
	struct seen *seen;
	struct strbuf json;
};

struct recorder *recorder__new(struct journal_writer *jw)
{
	struct recorder *rec = calloc(1, sizeof(*rec));

	if (rec)
		rec->jw = jw;
	return rec;
}

static void forget_all(struct recorder *rec)
{
	struct seen *seen, *next;

	HASH_ITER (hh, rec->seen, seen, next) {
		HASH_DEL(rec->seen, seen);
		free(seen);
	}
}

void recorder__free(struct recorder *rec)
{
	if (!rec)
		return;
	forget_all(rec);
	strbuf__free(&rec->json);
	free(rec);
}

/* 1: not seen before (and from now on seen); 0: seen; -ENOMEM. */
static int is_new(struct recorder *rec, struct key key)
{
	struct seen *seen;

	HASH_FIND(hh, rec->seen, &key, sizeof(key), seen);
	if (seen)
		return 0;
	if (HASH_COUNT(rec->seen) >= SEEN_MAX)
		forget_all(rec);
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	seen->key = key;
	HASH_ADD(hh, rec->seen, key, sizeof(key), seen);
	return 1;
}

static void add_frame(struct jsonw *w, const struct frame *frame)
{
	jsonw__object(w);
	if (frame->function)
		jsonw__kstr(w, "function", frame->function);
	jsonw__ku64(w, "offset", frame->offset);
	if (frame->module)
		jsonw__kstr(w, "module", frame->module);
	if (frame->build_id)
		jsonw__kstr(w, "build_id", frame->build_id);
	if (frame->file) {
		jsonw__kstr(w, "file", frame->file);
		jsonw__ku64(w, "line", frame->line);
	}
	jsonw__kbool(w, "kernel", frame->kernel);
	jsonw__kbool(w, "inlined", frame->inlined);
	jsonw__kbool(w, "app", frame->app);
	jsonw__object_end(w);
}

/* One record for the address of frames[first] and the frames that were inlined there. */
static int write_frames(struct recorder *rec, uint32_t pid, const struct frame *frames, size_t cnt)
{
	char address[24];
	struct jsonw w;

	snprintf(address, sizeof(address), "%llx", (unsigned long long)frames[0].address);
	strbuf__reset(&rec->json);
	jsonw__init(&w, &rec->json);
	jsonw__object(&w);
	jsonw__ku64(&w, "pid", frames[0].kernel ? 0 : pid);
	jsonw__kstr(&w, "address", address);
	jsonw__karray(&w, "frames");
	for (size_t i = 0; i < cnt; i++)
		add_frame(&w, &frames[i]);
	jsonw__array_end(&w);
	jsonw__object_end(&w);
	return journal_writer__json(rec->jw, JOURNAL_FRAMES, &rec->json);
}

/* The frames of one address: those that were inlined there, and the one that they were inlined into. */
static size_t frames_of_address(const struct stack *stack, size_t first)
{
	size_t last = first;

	while (stack->frames[last].inlined && last + 1 < stack->frame_cnt &&
	       stack->frames[last + 1].address == stack->frames[first].address)
		last++;
	return last + 1 - first;
}

int recorder__stack(struct recorder *rec, uint32_t pid, const struct stack *stack)
{
	for (size_t i = 0, cnt; i < stack->frame_cnt; i += cnt) {
		const struct frame *frame = &stack->frames[i];
		struct key key = { frame->address, frame->kernel ? 0 : pid };
		int res;

		cnt = frames_of_address(stack, i);
		res = is_new(rec, key);
		if (res > 0)
			res = write_frames(rec, pid, frame, cnt);
		if (res < 0)
			return res;
	}
	return 0;
}

int recorder__block(struct recorder *rec, const struct block *block)
{
	const struct machine_load *load = &block->load;
	struct jsonw w;
	int res;

	strbuf__reset(&rec->json);
	jsonw__init(&w, &rec->json);
	jsonw__object(&w);
	jsonw__ku64(&w, "tid", block->tid);
	jsonw__ku64(&w, "start_ns", block->start_ns);
	jsonw__kbool(&w, "hang", block->type == BLOCK_HANG);
	jsonw__kfixed(&w, "total_pct", load->total_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "process_pct", load->process_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "user_pct", load->user_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "system_pct", load->system_pct, PCT_DIGITS);
	jsonw__kfixed(&w, "iowait_pct", load->iowait_pct, PCT_DIGITS);
	jsonw__ki64(&w, "real_offset_ns", block->real_offset_ns);
	jsonw__ku64(&w, "mem_total_kb", block->host.mem_total_kb);
	jsonw__ku64(&w, "mem_free_kb", block->host.mem_free_kb);
	jsonw__ku64(&w, "mem_available_kb", block->host.mem_available_kb);
	jsonw__object_end(&w);
	res = journal_writer__json(rec->jw, JOURNAL_LOAD, &rec->json);
	return res ? res : journal_writer__flush(rec->jw);
}

static int add_json(struct journal_writer *jw, enum journal_kind kind, struct strbuf *json)
{
	int res = journal_writer__json(jw, kind, json);

	strbuf__free(json);
	return res;
}

int journal__add_session(struct journal_writer *jw, const struct judge *judge, uint64_t hang_ns)
{
	const struct host_info *host = judge->host;
	struct strbuf json = STRBUF_INIT;
	struct jsonw w;

	jsonw__init(&w, &json);
	jsonw__object(&w);
	jsonw__ku64(&w, "threshold_ns", judge->threshold_ns);
	jsonw__ku64(&w, "hang_ns", hang_ns);
	jsonw__ku64(&w, "fps", judge->fps);
	jsonw__ki64(&w, "real_offset_ns", judge->real_offset_ns);
	jsonw__kstr(&w, "name", host->name);
	jsonw__kstr(&w, "kernel", host->kernel);
	jsonw__kstr(&w, "arch", host->arch);
	jsonw__kstr(&w, "boot_id", host->boot_id);
	jsonw__ku64(&w, "cpus", host->cpus);
	jsonw__object_end(&w);
	return add_json(jw, JOURNAL_SESSION, &json);
}

int journal__add_process(struct journal_writer *jw, const struct identity *process)
{
	struct strbuf json = STRBUF_INIT;
	struct jsonw w;

	jsonw__init(&w, &json);
	jsonw__object(&w);
	jsonw__ku64(&w, "pid", process->pid);
	jsonw__ku64(&w, "uid", process->uid);
	jsonw__kstr(&w, "name", process->name);
	jsonw__kstr(&w, "exe", process->exe);
	jsonw__kstr(&w, "cgroup", process->cgroup);
	jsonw__object_end(&w);
	return add_json(jw, JOURNAL_PROCESS, &json);
}

int journal__add_end(struct journal_writer *jw, const struct summary *summary)
{
	struct strbuf json = STRBUF_INIT;
	struct jsonw w;

	jsonw__init(&w, &json);
	jsonw__object(&w);
	jsonw__ku64(&w, "elapsed_ns", summary->elapsed_ns);
	jsonw__kobject(&w, "lost");
	for (size_t i = 0; i < summary->lost_cnt; i++)
		jsonw__ku64(&w, summary->lost[i].reason, summary->lost[i].cnt);
	jsonw__object_end(&w);
	jsonw__object_end(&w);
	return add_json(jw, JOURNAL_END, &json);
}
