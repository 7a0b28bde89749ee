/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Made of names only: no address, line, pid or number of a thread. A thread that is busy, or kept off the CPU, is
 * interrupted anywhere: there the function counts that was on the stack for half of the time, since which one
 * below it comes first is chance.
 */
#include "verdict/signature.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "model/chain/what.h"
#include "model/stack.h"
#include "verdict/culprit.h"
#include "verdict/stable_name.h"

static void add_frame(struct strbuf *text, const struct frame *frame)
{
	stable_name__add_function(text, frame->function);
	strbuf__addc(text, '\n');
	stable_name__add_module(text, frame->module);
}

static const struct frame *frame_of(const struct proof *proof)
{
	const struct cause *cause = &proof->block->cause;
	uint32_t state = part__state(&cause->parts[0]);
	const struct frame *ret = NULL;

	if (state < JANK_STATE_FIRST_BLOCKED)
		ret = worst__common(proof, 0, NULL);
	return ret ? ret : cause->frame;
}

/* Of what was waited for only what sort it is: "tcp", "unix", "pipe". */
static void add_sort(struct strbuf *text, const struct sample *sample)
{
	const struct waited *waited = sample ? sample->waited : NULL;
	const char *name = waited ? waited->peer : NULL;

	if (waited && !name)
		name = waited->target;
	if (!name)
		return;
	strbuf__addc(text, '\n');
	strbuf__add(text, name, strcspn(name, " :"));
}

/* A function without a name: its module, which stays when a new build moves it; the process and the system call. */
static void add_place(struct strbuf *text, const struct proof *proof)
{
	const struct frame *frame = frame_of(proof);
	const char *syscall;

	if (frame && frame->function) {
		add_frame(text, frame);
		return;
	}
	if (frame && frame->module) {
		stable_name__add_module(text, frame->module);
		strbuf__addc(text, '\n');
	}
	syscall = worst__syscall(proof, 0);
	strbuf__addf(text, "%s\n%s", proof->block->process ? proof->block->process : "",
		     syscall ? syscall : "");
	add_sort(text, proof__main_sample(proof, 0));
}

/* Whether one who wants a CPU gets it is chance, too. */
static const char *state_word(uint32_t state)
{
	if (state == JANK_STATE_RUNNING || state == JANK_STATE_RUNNABLE)
		return "cpu";
	return state < JANK_STATE_CNT ? state__name(state) : "";
}

/*
 * A thread's name tells who it is in every run, if it has one; its function is not always seen, as when it began to
 * wait before anybody looked.
 */
static bool has_own_name(const struct block *block, const struct other_task *task)
{
	return task->pid != block->pid || !block->process ||
	       strncmp(task->comm, block->process, JANK_COMM_SZ - 1);
}

/* Who it was that the wait was for in the end, and at what. */
static void add_end(struct strbuf *text, const struct block *block, const struct link *end)
{
	struct moment moment = moment__of_link(block, end - block->chain);
	const char *what = what__of(&moment);
	const struct frame *frame = stack__app_frame(&end->stack);

	if (!frame || !frame->function)
		frame = stack__app_frame(&end->wake_stack);
	if (has_own_name(block, &end->task))
		frame = NULL;
	strbuf__addf(text, "\n%s\n%s\n%s\n", end->role == LINK_HELD ? "held" : "woke",
		     state_word(end->state), what ? what : "");
	if (frame && frame->function)
		add_frame(text, frame);
	else
		stable_name__add_thread(text, end->task.comm);
}

void signature__make(struct proof *proof)
{
	struct cause *cause = &proof->block->cause;
	const struct link *end = proof__chain_end(proof, 0);
	struct strbuf text = STRBUF_INIT;

	strbuf__addf(&text, "%s\n%s\n", cause->kind, cause->what ? cause->what : "");
	add_place(&text, proof);
	if (end)
		add_end(&text, proof->block, end);
	snprintf(cause->signature, sizeof(cause->signature), "%016llx",
		 (unsigned long long)XXH64(strbuf__str(&text), text.len, 0));
	strbuf__free(&text);
}
