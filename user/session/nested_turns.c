/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/nested_turns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "bpf/jank_abi.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"
#include "symbol/languages/runtime.h"

#define ENTRY_MAX 64 /* more are only counted */

struct nested_turns {
	struct unwatched entries[ENTRY_MAX];
	size_t cnt;
	uint64_t more_cnt;
};

struct nested_turns *nested_turns__new(void)
{
	return calloc(1, sizeof(struct nested_turns));
}

void nested_turns__free(struct nested_turns *nested)
{
	free(nested);
}

/* The function that ran the loop: the innermost named one that is not on the stack of its wait. */
static const char *runner_of(const struct block *block, const struct stack *stack)
{
	for (size_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];

		if (!frame->kernel && frame->function && frame->module &&
		    !runtime__is(frame->module) && !stack__has(&block->idle_place, frame))
			return frame->function;
	}
	return "";
}

static struct unwatched *entry_of(struct nested_turns *nested, uint32_t tid, const char *function)
{
	for (size_t i = 0; i < nested->cnt; i++)
		if (nested->entries[i].tid == tid && !strcmp(nested->entries[i].function, function))
			return &nested->entries[i];
	if (nested->cnt == ENTRY_MAX) {
		nested->more_cnt++;
		return NULL;
	}
	return &nested->entries[nested->cnt++];
}

static void count(struct nested_turns *nested, const struct block *block, const char *function)
{
	char name[sizeof(nested->entries->function)];
	struct unwatched *entry;

	snprintf(name, sizeof(name), "%s", function);
	entry = entry_of(nested, block->tid, name);
	if (!entry)
		return;
	entry->reason = UNWATCHED_NESTED;
	entry->pid = block->pid;
	entry->tid = block->tid;
	snprintf(entry->comm, sizeof(entry->comm), "%s", block->process->name ?: "?");
	memcpy(entry->function, name, sizeof(name));
	entry->handler_cnt++;
	entry->handler_ns += block->duration_ns;
}

/* What the job calls, up to the nested wait, is not the handler's. */
static void mark_job(struct stack *stack, const struct frame *job)
{
	for (struct frame *frame = stack->frames; frame <= job; frame++)
		frame->dispatcher = true;
}

bool nested_turns__is_block(struct nested_turns *nested, struct block *block)
{
	struct stack *stack = block->sample_cnt ? &block->samples[0].stack : NULL;
	const struct frame *frame;
	const char *reason;

	if (block->end != JANK_END_NESTED)
		return true;
	reason = stack ? wait_reason__of_nested(stack, &frame) : NULL;
	if (reason && strcmp(reason, "dialog")) {
		mark_job(stack, frame);
		return true;
	}
	count(nested, block, reason ? frame->function : stack ? runner_of(block, stack) : "");
	return false;
}

int nested_turns__list(const struct nested_turns *nested, struct unwatched_list *list)
{
	int res = 0;

	for (size_t i = 0; i < nested->cnt && !res; i++)
		res = unwatched__add(list, &nested->entries[i]);
	list->more_cnt += nested->more_cnt;
	return res;
}
