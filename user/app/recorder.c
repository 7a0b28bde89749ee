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

struct seen {
	uint64_t address;
	UT_hash_handle hh;
};

struct process {
	uint32_t pid; /* 0 for the kernel */
	struct seen *seen;
	UT_hash_handle hh;
};

struct recorder {
	struct journal_writer *jw;
	struct process *processes;
	size_t seen_cnt; /* of all of them */
	struct strbuf json;
};

struct recorder *recorder__new(struct journal_writer *jw)
{
	struct recorder *rec = calloc(1, sizeof(*rec));

	if (rec)
		rec->jw = jw;
	return rec;
}

static void forget(struct recorder *rec, struct process *process)
{
	struct seen *seen, *next;

	HASH_ITER (hh, process->seen, seen, next) {
		HASH_DEL(process->seen, seen);
		free(seen);
		rec->seen_cnt--;
	}
	HASH_DEL(rec->processes, process);
	free(process);
}

static void forget_all(struct recorder *rec)
{
	struct process *process, *next;

	HASH_ITER (hh, rec->processes, process, next)
		forget(rec, process);
}

void recorder__gone(struct recorder *rec, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, rec->processes, &pid, sizeof(pid), process);
	if (process)
		forget(rec, process);
}

void recorder__free(struct recorder *rec)
{
	if (!rec)
		return;
	forget_all(rec);
	strbuf__free(&rec->json);
	free(rec);
}

static struct process *process_of(struct recorder *rec, uint32_t pid)
{
	struct process *process;

	HASH_FIND(hh, rec->processes, &pid, sizeof(pid), process);
	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	HASH_ADD(hh, rec->processes, pid, sizeof(pid), process);
	return process;
}

/* 1: not seen before (and from now on seen); 0: seen; -ENOMEM. */
static int is_new(struct recorder *rec, uint32_t pid, uint64_t address)
{
	struct process *process;
	struct seen *seen;

	if (rec->seen_cnt >= SEEN_MAX)
		forget_all(rec);
	process = process_of(rec, pid);
	if (!process)
		return -ENOMEM;
	HASH_FIND(hh, process->seen, &address, sizeof(address), seen);
	if (seen)
		return 0;
	seen = calloc(1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	seen->address = address;
	HASH_ADD(hh, process->seen, address, sizeof(address), seen);
	rec->seen_cnt++;
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
		int res;

		cnt = frames_of_address(stack, i);
		res = is_new(rec, frame->kernel ? 0 : pid, frame->address);
		if (res > 0)
			res = write_frames(rec, pid, frame, cnt);
		if (res < 0)
			return res;
	}
	return 0;
}

static void add_name(struct jsonw *w, const char *key, const struct message_name *name)
{
	if (!message_name__is_known(name))
		return;
	jsonw__kobject(w, key);
	jsonw__kstr_known(w, "symbol", name->symbol);
	jsonw__kstr_known(w, "module", name->module);
	jsonw__ku64(w, "offset", name->offset);
	jsonw__object_end(w);
}

static void add_fd(struct jsonw *w, const struct message_fd *fd)
{
	jsonw__object(w);
	jsonw__ki64(w, "fd", fd->fd);
	jsonw__ku64(w, "events", fd->events);
	jsonw__kstr_known(w, "target", fd->target);
	jsonw__object_end(w);
}

static void add_message(struct jsonw *w, const struct message *message)
{
	jsonw__kstr_known(w, "what", message->what);
	add_name(w, "handler", &message->handler);
	add_name(w, "callback", &message->callback);
	add_name(w, "source", &message->source);
	jsonw__karray(w, "fds");
	add_fd(w, &message->fd);
	for (unsigned i = 0; i < message->also_cnt; i++)
		add_fd(w, &message->also[i]);
	jsonw__array_end(w);
	jsonw__ku64(w, "ready_cnt", message->ready_cnt);
	jsonw__kbool(w, "too_many_fds", message->too_many_fds);
	if (message->was_queued)
		jsonw__ku64(w, "queued_ns", message->queued_ns);
}

/* Begins what is recorded of a block, by what replay finds the block again. */
static void begin_of_block(struct recorder *rec, const struct block *block, struct jsonw *w)
{
	strbuf__reset(&rec->json);
	jsonw__init(w, &rec->json);
	jsonw__object(w);
	jsonw__ku64(w, "tid", block->tid);
	jsonw__ku64(w, "start_ns", block->start_ns);
	jsonw__kbool(w, "hang", block->type == BLOCK_HANG);
}

int recorder__message(struct recorder *rec, const struct block *block)
{
	struct jsonw w;

	if (!message__is_known(block->message))
		return 0;
	begin_of_block(rec, block, &w);
	add_message(&w, block->message);
	jsonw__object_end(&w);
	return journal_writer__json(rec->jw, JOURNAL_MESSAGE, &rec->json);
}

int recorder__block(struct recorder *rec, const struct block *block)
{
	const struct machine_load *load = &block->load;
	struct jsonw w;
	int res;

	begin_of_block(rec, block, &w);
	if (block->loop_name)
		jsonw__kstr(&w, "loop", block->loop_name);
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

int recorder__left_out(struct recorder *rec, const struct block *block)
{
	struct jsonw w;

	begin_of_block(rec, block, &w);
	jsonw__kbool(&w, "left_out", true);
	jsonw__object_end(&w);
	return journal_writer__json(rec->jw, JOURNAL_LOAD, &rec->json);
}

/* A process's loops by the names that the catalogue has for them. */
static void add_loops(struct jsonw *w, const struct summary *summary)
{
	jsonw__karray(w, "loops");
	for (size_t i = 0; i < summary->loop_cnt; i++) {
		const struct loop_hist *loop = &summary->loops[i];

		if (!loop->loop_name)
			continue;
		jsonw__object(w);
		jsonw__ku64(w, "pid", loop->pid);
		jsonw__ku64(w, "loop", loop->loop);
		jsonw__kstr(w, "name", loop->loop_name);
		jsonw__object_end(w);
	}
	jsonw__array_end(w);
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
	jsonw__ku64(&w, "ns_pid", process->ns_pid);
	jsonw__kstr(&w, "name", process->name);
	jsonw__kstr(&w, "exe", process->exe);
	jsonw__kstr(&w, "cgroup", process->cgroup);
	jsonw__kstr(&w, "container", process->container);
	jsonw__kstr(&w, "pod", process->pod);
	jsonw__kstr(&w, "unit", process->unit);
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
	add_loops(&w, summary);
	jsonw__object_end(&w);
	return add_json(jw, JOURNAL_END, &json);
}
