/* SPDX-License-Identifier: GPL-2.0 */
/* Each address of each process is written once, with the frames that it stands for. */
#include "app/recorder_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#define SEEN_MAX 65536 /* then begun anew: names may come twice, none is missing */

struct seen {
	uint64_t address;
	UT_hash_handle hh;
};

struct process {
	uint32_t pid; /* 0 for the kernel */
	struct seen *seen;
	UT_hash_handle hh;
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
	if (frame->language)
		jsonw__kstr(w, "language", frame->language);
	jsonw__kbool(w, "kernel", frame->kernel);
	jsonw__kbool(w, "inlined", frame->inlined);
	jsonw__kbool(w, "app", frame->app);
	jsonw__object_end(w);
}

/* One record for the address of frames[first] and the frames that were inlined there. */
static int write_frames(struct recorder *rec, uint32_t pid, uint64_t key,
			const struct frame *frames, size_t cnt)
{
	char address[24];
	struct jsonw w;

	snprintf(address, sizeof(address), "%llx", (unsigned long long)key);
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

uint64_t recorder__script_key(const struct jank_script_frame *frame)
{
	return frame->instr ^ (uint64_t)frame->check << 32;
}

uint64_t recorder__native_key(uint64_t address, bool exact)
{
	return address ^ (uint64_t)exact << 62;
}

/* Is it where the thread was, in the kernel or in its program? Frames before it may be inlined at the same place. */
static bool is_exact(const struct stack *stack, size_t i)
{
	return !i || (stack->frames[i - 1].kernel && !stack->frames[i].kernel);
}

/* What a replay finds the frame by: its address, or 0 for one that isn't written. */
static uint64_t key_of(const struct stack *stack, size_t i)
{
	size_t native = stack->frame_cnt - stack->script_cnt;

	if (i < native)
		return recorder__native_key(stack->frames[i].address, is_exact(stack, i));
	return stack->script[i - native].code ? recorder__script_key(&stack->script[i - native])
					      : 0;
}

int recorder__stack(struct recorder *rec, uint32_t pid, const struct stack *stack)
{
	for (size_t i = 0, cnt; i < stack->frame_cnt; i += cnt) {
		const struct frame *frame = &stack->frames[i];
		uint64_t key = key_of(stack, i);
		int res;

		cnt = frames_of_address(stack, i);
		res = key ? is_new(rec, frame->kernel ? 0 : pid, key) : 0;
		if (res > 0)
			res = write_frames(rec, pid, key, frame, cnt);
		if (res < 0)
			return res;
	}
	return 0;
}
