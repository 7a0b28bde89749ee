/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kind comes from the account, which is exact; stacks only tell user from kernel time and name the
 * function. The signature holds no address, line or pid, so that it groups across machines and builds.
 */
#include "model/blame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/strbuf.h"
#include "model/stack.h"

/* What a sample may be blamed on, with the time that it answers for. */
struct candidate {
	const char *name, *module;
	const struct frame *frame; /* NULL for a system call */
	uint64_t weight;
	size_t at; /* of two that are equal the earlier is blamed */
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

static int compare(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

/* Code of one module that has no names counts together: apart, it would hide behind those that have. */
static int by_name(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = compare(x->name, y->name);

	if (!order)
		order = compare(x->module, y->module);
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static bool same(const struct candidate *a, const struct candidate *b)
{
	return !compare(a->name, b->name) && !compare(a->module, b->module);
}

/* The name with the most time, all of its samples together; none: an empty one. */
static struct candidate worst(struct candidate *list, size_t cnt)
{
	struct candidate ret = { 0 }, sum = { 0 };

	qsort(list, cnt, sizeof(*list), by_name);
	for (size_t i = 0; i < cnt; i++) {
		if (i && same(&sum, &list[i]))
			sum.weight += list[i].weight;
		else
			sum = list[i];
		if (sum.weight > ret.weight || (sum.weight == ret.weight && sum.at < ret.at))
			ret = sum;
	}
	return ret;
}

/* The application frame with the most time among the samples of one state. */
static const struct frame *worst_frame(const struct block *block, uint32_t state)
{
	struct candidate *list = calloc(block->sample_cnt + 1, sizeof(*list)), ret;
	size_t cnt = 0;

	for (size_t i = 0; list && i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];
		const struct frame *frame = stack__app_frame(&sample->stack);

		if (frame && sample->state == state)
			list[cnt++] = (struct candidate){ frame->function, frame->module, frame,
							  sample->ns ? sample->ns : 1, i };
	}
	if (!cnt) {
		free(list);
		return NULL;
	}
	ret = worst(list, cnt);
	free(list);
	return ret.frame;
}

/* The system call in which most of the state's time was spent, or NULL. */
static const char *worst_syscall(const struct block *block, uint32_t state)
{
	struct candidate *list = calloc(block->sample_cnt + 1, sizeof(*list)), ret;
	size_t cnt = 0;

	for (size_t i = 0; list && i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];

		if (sample->syscall_name && sample->state == state)
			list[cnt++] = (struct candidate){ .name = sample->syscall_name,
							  .weight = sample->ns,
							  .at = i };
	}
	if (!cnt) {
		free(list);
		return NULL;
	}
	ret = worst(list, cnt);
	free(list);
	return ret.name;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* Without ".cold", ".constprop.0" or the like at its end. Other dots are part of a name, as Go's are. */
static size_t cut_suffix(const char *function, size_t len)
{
	static const char *const words[] = { "constprop", "isra",     "part",	    "cold",
					     "clone",	  "lto_priv", "localalias", "llvm" };
	size_t end = len, begin;

	while (end && function[end - 1] >= '0' && function[end - 1] <= '9')
		end--;
	end = end < len && end && function[end - 1] == '.' ? end - 1 : len;
	for (begin = end; begin && function[begin - 1] != '.';)
		begin--;
	for (size_t i = 0; begin > 1 && i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == end - begin &&
		    !memcmp(words[i], function + begin, end - begin))
			return begin - 1;
	return len;
}

/* Compilers add suffixes from build to build; demanglers show them as "[clone .isra.0]". */
static size_t stable_len(const char *function)
{
	const char *clone = strstr(function, " [clone ");
	size_t len = clone && clone > function ? (size_t)(clone - function) : strlen(function);

	for (size_t cut; (cut = cut_suffix(function, len)) < len;)
		len = cut;
	return len;
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
