/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of the sentence: names, tasks, functions and places in readable form. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "model/pid.h"
#include "model/stack.h"
#include "verdict/frames.h"
#include "verdict/sentence.h"

#define NAME_BYTES     80
#define PATH_BYTES     120
#define ELLIPSIS       "…"
#define PRIO_DEADLINE  1
#define PRIO_REALTIME  101 /* wire format of rt_priority 0, the last one */
#define PRIO_NICE_ZERO 122

static bool is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80; /* second or later byte of a UTF-8 character */
}

void words__add_name(struct strbuf *sb, const char *name)
{
	size_t len = strnlen(name, NAME_BYTES + 1);

	if (len <= NAME_BYTES) {
		strbuf__add(sb, name, len);
		return;
	}
	for (len = NAME_BYTES; len && is_inside(name[len]);)
		len--;
	strbuf__add(sb, name, len);
	strbuf__adds(sb, ELLIPSIS);
}

void words__add_path(struct strbuf *sb, const char *path)
{
	size_t len = strlen(path);

	if (len > PATH_BYTES) {
		path += len - PATH_BYTES;
		while (is_inside(*path))
			path++;
		if (strchr(path, '/'))
			path = strchr(path, '/');
		strbuf__adds(sb, ELLIPSIS);
	}
	strbuf__adds(sb, path);
}

/* Maps glibc's internal names of public functions: "___pthread_mutex_lock", "__GI_getaddrinfo". */
static const char *public_name(const char *function)
{
	const char *name = strncmp(function, "__GI_", 5) ? function : function + 5;
	const char *bare = name + strspn(name, "_");

	return strncmp(bare, "pthread_", 8) ? name : bare;
}

void words__add_function(struct strbuf *sb, const struct frame *frame)
{
	struct strbuf name = STRBUF_INIT;

	if (frame->function) {
		function__add_short(&name, public_name(frame->function), "<…>", false);
		words__add_name(sb, strbuf__str(&name));
		sb->failed |= name.failed;
		strbuf__free(&name);
		return;
	}
	words__add_name(sb, text__base_name(frame->module));
	strbuf__addf(sb, "+0x%" PRIx64, frame->offset);
}

/* "redis-server (no symbols)": several places of a module without symbols */
static void words__add_nameless(struct strbuf *sb, const struct frame *frame)
{
	words__add_name(sb, text__base_name(frame->module));
	strbuf__adds(sb, " (no symbols)");
}

void words__add_place(struct strbuf *sb, const struct block *block, const struct frame *frame,
		      uint32_t line)
{
	const char *module = text__base_name(frame->module);

	words__add_function(sb, frame);
	if (!frame->function || !*module ||
	    (block->process->exe && !strcmp(module, text__base_name(block->process->exe))) ||
	    (block->process->name && !strcmp(module, block->process->name)))
		return;
	strbuf__adds(sb, " (");
	words__add_name(sb, module);
	if (line)
		strbuf__addf(sb, ":%" PRIu32, line);
	strbuf__adds(sb, ")");
}

void words__add_task(struct strbuf *sb, const struct block *block, const struct other_task *task,
		     const char *process)
{
	if (task->pid == block->pid) {
		if (task->tid == task->pid)
			strbuf__adds(sb, "the main thread");
		else
			strbuf__addf(sb, "thread '%s' (tid %" PRIu32 ")", task->comm, task->tid);
		return;
	}
	words__add_name(sb, process && *process ? process : task->comm);
	strbuf__adds(sb, " (");
	pid__add(sb, task->pid);
	if (task->tid != task->pid && task->tid && process && *process)
		strbuf__addf(sb, ", thread '%s'", task->comm);
	strbuf__adds(sb, ")");
}

static void add_prio(struct strbuf *sb, uint16_t prio)
{
	if (prio <= PRIO_DEADLINE)
		strbuf__adds(sb, ", with a deadline");
	else if (prio <= PRIO_REALTIME)
		strbuf__addf(sb, ", real-time priority %d", PRIO_REALTIME - prio);
	else
		strbuf__addf(sb, ", nice %d", prio - PRIO_NICE_ZERO);
}

void words__add_runners(struct strbuf *sb, const struct runners *runners, uint16_t than)
{
	const struct other_task *task = runners->task;

	if (runners->who == RUNNER_PEERS && runners->cnt > 1) {
		strbuf__addf(sb, "%zu other threads of its process", runners->cnt);
		return;
	}
	if (runners->who == RUNNER_PEERS) {
		strbuf__addf(sb, "its own thread '%s' (tid %" PRIu32, task->comm, task->tid);
	} else {
		if (runners->who == RUNNER_OURS)
			strbuf__adds(sb, "jankbpf itself");
		else
			strbuf__addf(sb, "'%s'", task->comm);
		strbuf__adds(sb, " (");
		pid__add(sb, task->pid);
		if (runners->cnt > 1)
			strbuf__addf(sb, " and %zu more", runners->cnt - 1);
	}
	if (task->prio && than && task->prio < than)
		add_prio(sb, task->prio);
	strbuf__adds(sb, ")");
}

void words__add_thawer(struct strbuf *sb, const struct other_task *thawer)
{
	if (!thawer->pid)
		return;
	strbuf__adds(sb, ", until ");
	words__add_name(sb, thawer->comm);
	strbuf__adds(sb, " (");
	pid__add(sb, thawer->pid);
	strbuf__adds(sb, ") thawed it");
}

void words__add_pct(struct strbuf *sb, double share)
{
	strbuf__addf(sb, "%.0f %%", share * 100);
}

const char *words__of_reason(const char *reason)
{
	static const struct {
		const char *key, *words;
	} list[] = {
#define X_REASON(key, words) { key, words },
		VERDICT_REASONS(X_REASON)
#undef X_REASON
	};

	for (size_t i = 0; reason && i < sizeof(list) / sizeof(list[0]); i++)
		if (!strcmp(list[i].key, reason))
			return list[i].words;
	return NULL;
}

void clause__add_verb(struct clause *c, const char *past, const char *going_on)
{
	strbuf__addf(c->sb, c->open ? " has been %s for " : " %s ", c->open ? going_on : past);
	clock__add_duration(c->sb, c->ns);
}

void sentence__add_collector(struct strbuf *sb, const struct block *block,
			     const struct activity *activity)
{
	const struct frame *caller, *outer = wait_reason__collector(activity, &caller);

	if (!outer)
		return;
	strbuf__adds(sb, " (");
	words__add_function(sb, outer);
	strbuf__adds(sb, ")");
	if (!caller)
		return;
	strbuf__adds(sb, " ← ");
	words__add_place(sb, block, caller, 0);
}

/*
 * Adds the location: the library function or the system call, then the application function that
 * called it.
 */
bool sentence__add_call(struct strbuf *sb, const struct activity *activity,
			const struct frame *frame)
{
	const struct frame *call = wait_reason__frame(activity),
			   *app = stack__app_frame(activity->stack);
	const struct frame *called =
		app && frame && stack__same_code(app, frame)
			? stack__called(activity->stack, app, activity->syscall)
			: NULL;
	bool futex = activity->state == JANK_STATE_FUTEX; /* its system call adds nothing */
	bool fault = activity->state == JANK_STATE_PAGE_FAULT;
	bool named = frame && (frame->function || frame->module);
	const char *joint = " in ";

	if (call && app && call >= app) /* pointers into one stack: the call is further out */
		call = NULL;
	if (activity->syscall && !call && !futex && !fault) {
		strbuf__addf(sb, "%s%s", joint, activity->syscall);
		joint = " ← ";
	}
	if (called || call) { /* what the program called says more than what is within */
		strbuf__adds(sb, joint);
		words__add_function(sb, called ? called : call);
		joint = " ← ";
	}
	strbuf__adds(sb, named ? joint : "");
	return named;
}

void clause__add_handler(struct clause *c, const struct frame *frame)
{
	const struct frame *handler = culprit__handler(c->analysis, c->nr, frame);
	const struct frame *first = c->block->cause.parts[0].frame, *said = NULL;

	if (c->nr && first)
		said = culprit__handler(c->analysis, 0, first);
	if (!handler || (said && stack__same_code(said, handler)))
		return;
	strbuf__adds(c->sb, " ← ");
	words__add_place(c->sb, c->block, handler, 0);
}

void sentence__add_place(struct strbuf *sb, const struct block *block,
			 const struct activity *activity)
{
	const struct frame *frame = stack__app_frame(activity->stack);

	if (sentence__add_call(sb, activity, frame))
		words__add_place(sb, block, frame, 0);
}

void clause__add_frame(struct clause *c, const struct frame *frame)
{
	const struct frame *shared = NULL;

	if (culprit__is_many(c->analysis, c->nr, frame)) {
		shared = culprit__shared_place(c->analysis, c->nr);
		if (!shared) {
			words__add_nameless(c->sb, frame);
			return;
		}
	}
	words__add_place(c->sb, c->block, shared ? shared : frame,
			 shared ? 0 : culprit__line(c->analysis, c->nr, frame));
}

void words__add_thread(struct strbuf *sb, const struct block *block)
{
	if (block->tid == block->pid)
		strbuf__adds(sb, "main thread");
	else if (block->thread && *block->thread) {
		strbuf__adds(sb, "thread '");
		words__add_name(sb, block->thread);
		strbuf__adds(sb, "'");
	} else
		strbuf__addf(sb, "thread %" PRIu32, block->tid);
}
