/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kind comes from the account, which is exact; stacks only tell user from kernel time and name the
 * function. The signature holds no address, line or pid, so that it groups across machines and builds.
 */
#include "model/blame.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/strbuf.h"
#include "model/stack.h"

#define CANDIDATE_MAX 32

/* A frame with the time that it answers for. */
struct candidate {
	const struct frame *frame;
	uint64_t weight;
};

static uint32_t largest_state(const struct block *block)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i < JANK_STATE_CNT; i++)
		if (block->state_ns[i] > block->state_ns[largest])
			largest = i;
	return largest;
}

static bool is_tick(const struct sample *sample)
{
	return sample->state == JANK_STATE_RUNNING;
}

/* Was the thread in the kernel at most of the sampler's ticks? */
static bool mostly_kernel(const struct block *block)
{
	size_t ticks = 0, kernel = 0;

	for (size_t i = 0; i < block->sample_cnt; i++) {
		if (!is_tick(&block->samples[i]))
			continue;
		ticks++;
		kernel += block->samples[i].stack.kernel_cnt > 0;
	}
	return kernel * 2 > ticks;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Code of one module that has no names counts together: apart, it would hide behind those that have. */
static bool same_function(const struct frame *a, const struct frame *b)
{
	return same(a->function, b->function) && same(a->module, b->module);
}

static void count_frame(struct candidate *list, size_t *cnt, const struct frame *frame,
			uint64_t weight)
{
	for (size_t i = 0; i < *cnt; i++)
		if (same_function(list[i].frame, frame)) {
			list[i].weight += weight;
			return;
		}
	if (*cnt < CANDIDATE_MAX)
		list[(*cnt)++] = (struct candidate){ frame, weight };
}

/* The application frame with the most time among the samples of one state. */
static const struct frame *worst_frame(const struct block *block, uint32_t state)
{
	struct candidate list[CANDIDATE_MAX];
	const struct candidate *worst = NULL;
	size_t cnt = 0;

	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];
		const struct frame *frame = stack__app_frame(&sample->stack);

		if (frame && sample->state == state)
			count_frame(list, &cnt, frame, sample->ns ? sample->ns : 1);
	}
	for (size_t i = 0; i < cnt; i++)
		if (!worst || list[i].weight > worst->weight)
			worst = &list[i];
	return worst ? worst->frame : NULL;
}

/* The system call in which most of the state's time was spent, or NULL. */
static const char *worst_syscall(const struct block *block, uint32_t state)
{
	const char *name = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < block->sample_cnt; i++)
		if (block->samples[i].state == state && block->samples[i].ns > most) {
			most = block->samples[i].ns;
			name = block->samples[i].syscall_name;
		}
	return name;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* Compilers add .constprop.0, .isra.0, .cold and such from build to build. */
static size_t stable_len(const char *function)
{
	size_t len = strcspn(function, ".");

	return len ? len : strlen(function);
}

static void sign(struct block *block, uint32_t state)
{
	struct cause *cause = &block->cause;
	const struct frame *frame = cause->frame;
	struct strbuf text = STRBUF_INIT;

	strbuf__addf(&text, "%s\n", cause->kind);
	if (frame && frame->function) {
		strbuf__add(&text, frame->function, stable_len(frame->function));
		strbuf__addf(&text, "\n%s", base_name(frame->module));
	} else {
		const char *syscall = worst_syscall(block, state);

		strbuf__addf(&text, "%s\n%s", block->process ? block->process : "",
			     syscall ? syscall : "");
	}
	snprintf(cause->signature, sizeof(cause->signature), "%016llx",
		 (unsigned long long)XXH64(strbuf__str(&text), text.len, 0));
	strbuf__free(&text);
}

static void judge_stacks(struct block *block)
{
	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct stack *stack = &block->samples[i].stack;

		if (stack->user_cnt && !stack__reaches_start(stack))
			block->stack_quality |= QUALITY_FP;
	}
}

void blame__block(struct block *block)
{
	uint32_t state = largest_state(block);
	struct cause *cause = &block->cause;

	cause->kind = state__name(state);
	if (state == JANK_STATE_RUNNING)
		cause->kind = mostly_kernel(block) ? "kernel" : "cpu";
	cause->share = block->duration_ns ? (double)block->state_ns[state] / block->duration_ns : 0;
	cause->frame = worst_frame(block, state);
	/* A thread that waits for a CPU was running its own code before. */
	if (!cause->frame && state == JANK_STATE_RUNNABLE)
		cause->frame = worst_frame(block, JANK_STATE_RUNNING);
	sign(block, state);
	judge_stacks(block);
}
