/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The signature contains only names: no address, line, pid or thread id. A thread that is busy or
 * kept off the CPU is interrupted at random places. There it uses the function that was on the
 * stack for half of the time; which function below it has the most samples is chance.
 */
#include "verdict/analysis.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/stable_name.h"
#include "base/text.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"

void stable_name__add_module(struct strbuf *sb, const char *module)
{
	const char *name = text__base_name(module), *so = strstr(name, ".so");
	const char *deleted = strstr(name, " (deleted)");
	size_t len = deleted ? (size_t)(deleted - name) : strlen(name);

	if (so && (so[3] == '\0' || so[3] == '.' || so[3] == ' '))
		len = so - name;
	else
		so = NULL;
	/* "libc-2.31.so" */
	for (size_t i = 1; so && i + 1 < len; i++)
		if (name[i] == '-' && isdigit((unsigned char)name[i + 1]))
			len = i;
	strbuf__add(sb, name, len);
}

void stable_name__add_thread(struct strbuf *sb, const char *comm)
{
	for (; comm && *comm; comm++)
		if (!isdigit((unsigned char)*comm))
			strbuf__addc(sb, *comm);
}

static void add_frame(struct strbuf *text, const struct frame *frame)
{
	stable_name__add_function(text, frame->function);
	strbuf__addc(text, '\n');
	stable_name__add_module(text, frame->module);
}

static const struct frame *frame_of(const struct analysis *analysis)
{
	const struct cause *cause = &analysis->block->cause;
	uint32_t state = part__state(&cause->parts[0]);
	const struct frame *ret = NULL;

	if (state < JANK_STATE_FIRST_BLOCKED)
		ret = culprit__common(analysis, 0, NULL);
	return ret ? ret : cause->frame;
}

/* Adds only the type of the wait object: "tcp", "unix", "pipe". */
static void add_sort(struct strbuf *text, const struct sample *sample)
{
	const struct wait_object *waited = sample ? sample->waited : NULL;
	const char *name = waited ? waited->peer : NULL;

	if (waited && !name)
		name = waited->target;
	if (!name)
		return;
	strbuf__addc(text, '\n');
	strbuf__add(text, name, strcspn(name, " :"));
}

/*
 * For a function without a name: its module, which stays the same if a new build moves the
 * function; the process and the system call.
 */
static void add_place(struct strbuf *text, const struct analysis *analysis)
{
	const struct frame *frame = frame_of(analysis);
	const char *syscall;

	if (frame && frame->function) {
		add_frame(text, frame);
		return;
	}
	if (frame && frame->module) {
		stable_name__add_module(text, frame->module);
		strbuf__addc(text, '\n');
	}
	syscall = culprit__syscall(analysis, 0);
	strbuf__addf(text, "%s\n%s", analysis->block->process ? analysis->block->process : "",
		     syscall ? syscall : "");
	add_sort(text, analysis__main_sample(analysis, 0));
}

/* Running and runnable are one word: whether a thread gets the CPU is chance, too. */
static const char *state_word(uint32_t state)
{
	if (state == JANK_STATE_RUNNING || state == JANK_STATE_RUNNABLE)
		return "cpu";
	return state < JANK_STATE_CNT ? state__name(state) : "";
}

/*
 * True if the thread's name identifies it in every run. Its function is not always known, for
 * example if it began to wait before tracing started.
 */
static bool has_own_name(const struct block *block, const struct other_task *task)
{
	return task->pid != block->pid || !block->process ||
	       strncmp(task->comm, block->process, JANK_COMM_SZ - 1);
}

/* Adds the last link of the chain and its activity. */
static void add_end(struct strbuf *text, const struct block *block, const struct link *end)
{
	struct activity activity = activity__of_link(block, end - block->chain);
	const char *reason = wait_reason__of(&activity);
	const struct frame *frame = stack__app_frame(&end->stack);

	if (!frame || !frame->function)
		frame = stack__app_frame(&end->wake_stack);
	if (has_own_name(block, &end->task))
		frame = NULL;
	strbuf__addf(text, "\n%s\n%s\n%s\n", end->role == LINK_HELD ? "held" : "woke",
		     state_word(end->state), reason ? reason : "");
	if (frame && frame->function)
		add_frame(text, frame);
	else
		stable_name__add_thread(text, end->task.comm);
}

void signature__make(struct analysis *analysis)
{
	struct cause *cause = &analysis->block->cause;
	const struct link *end = analysis__chain_end(analysis, 0);
	struct strbuf text = STRBUF_INIT;

	strbuf__addf(&text, "%s\n%s\n", cause->kind, cause->what ? cause->what : "");
	add_place(&text, analysis);
	if (end)
		add_end(&text, analysis->block, end);
	snprintf(cause->signature, sizeof(cause->signature), "%016llx",
		 (unsigned long long)XXH64(strbuf__str(&text), text.len, 0));
	strbuf__free(&text);
}
