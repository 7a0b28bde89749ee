/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kinds and shares come from the time account and are exact. Stacks, system calls and wait objects
 * add details: the parts (analysis.c), the functions (culprit.c), the confidence (blame.c) and the
 * sentence (sentence.c).
 */
#include "verdict/blame.h"

#include <stdlib.h>
#include <string.h>

#include "model/chain/wait_reason.h"
#include "model/stack.h"
#include "verdict/analysis.h"
#include "verdict/java_message.h"
#include "verdict/sentence.h"

/* --- Confidence: factors between 0 and 1; a factor is 1 only if nothing is missing. */

static double at_most_one(double x)
{
	return x < 1 ? x : 1;
}

static double ratio(double part, double all)
{
	return all > 0 ? at_most_one(part / all) : 0;
}

static bool is_counted(const char *reason)
{
	return reason && (!strcmp(reason, "throttled") || !strcmp(reason, "stolen"));
}

/* Of the first part: the time covered by samples, and the share of it with an application frame. */
struct seen {
	double ns, named_ns;
	size_t ticks;
};

static struct seen seen_of(const struct analysis *analysis)
{
	struct seen seen = { 0 };

	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		const struct sample *sample = &analysis->block->samples[i];
		double weight = analysis__weight(analysis, i, 0);

		seen.ns += weight;
		seen.ticks += weight && sample->state == JANK_STATE_RUNNING;
		if (stack__frame_in(&sample->stack, sample->state))
			seen.named_ns += weight;
	}
	/* Before a dispatch starts there is no function to name. */
	if (analysis->block->cause.parts[0].state == JANK_STATE_RUNNABLE) {
		seen.ns += analysis->block->start_delay_ns;
		seen.named_ns += analysis->block->start_delay_ns;
	}
	return seen;
}

static double coverage(const struct analysis *analysis, const struct seen *seen)
{
	const struct cause_part *part = &analysis->block->cause.parts[0];
	double ns = part->share * block__delay(analysis->block);

	if (part->state == JANK_STATE_RUNNING)
		return 1 - 1.0 / (seen->ticks + 1);
	return is_counted(part->what) ? 1 : ratio(seen->ns, ns);
}

static double records(const struct block *block)
{
	double ret = 1;

	for (size_t i = 0; i < block->lost_cnt; i++)
		ret *= 0.9;
	return ret;
}

static double of_chain(const struct analysis *analysis)
{
	const struct link *last = &analysis->block->chain[analysis->block->chain_cnt - 1];
	double ns = 0;

	for (size_t i = 0; i < JANK_STATE_CNT; i++)
		ns += last->part_ns[i];
	return 0.5 + 0.5 * ratio(ns, last->ns);
}

static double culprit(const struct analysis *analysis)
{
	const struct block *block = analysis->block;
	const struct cause_part *part = &block->cause.parts[0];
	const struct sample *sample = analysis__main_sample(analysis, 0);
	uint32_t state = part->state;
	double ns = 0;

	if (state == JANK_STATE_RUNNABLE && !is_counted(part->what)) {
		for (size_t i = 0; i < block->preemptor_cnt; i++)
			ns += block->preemptors[i].ns;
		return 0.5 + 0.5 * ratio(ns, part->share * block__delay(block));
	}
	if (!wait_reason__needs_thread(state, part->what))
		return 1;
	if (analysis__has_chain(analysis, 0))
		return of_chain(analysis);
	return sample && activity__of_sample(sample).waker_tid ? 0.7 : 0.5;
}

/*
 * Confidence of the first part, 0 to 1; its kind and share are exact in any case. The product of
 *
 * - coverage: the share of its time with samples: span time divided by the state's time; for n
 *   ticks 1 - 1/(n + 1);
 * - names: 0.7 + 0.3 × the share of that time with an application frame;
 * - records: 0.9 for each reason for which the block lost records;
 * - culprit, for a wait for another thread: 0.5 + 0.5 × the known share of the time of the chain's
 *   last link. Without a chain 0.7 with a waker, 0.5 without. 1 for a wait that no thread ends.
 *   For a wait for a CPU: 0.5 + 0.5 × the share of it with known preemptors; 1 if throttled or
 *   stolen, which the kernel counts.
 */
static double confidence__of(const struct analysis *analysis)
{
	struct seen seen = seen_of(analysis);
	double names = 0.7 + 0.3 * ratio(seen.named_ns, seen.ns);

	if (is_counted(analysis->block->cause.parts[0].what) && !seen.ns)
		names = 1;
	return coverage(analysis, &seen) * names * records(analysis->block) * culprit(analysis);
}

static unsigned quality_of(const struct stack *stack)
{
	static const unsigned qualities[] = {
		[STACK_END_UNKNOWN] = QUALITY_FP,	 [STACK_END_COMPLETE] = 0,
		[STACK_END_COPY] = QUALITY_COPY,	 [STACK_END_HOLE] = QUALITY_HOLE,
		[STACK_END_NO_TABLE] = QUALITY_NO_TABLE, [STACK_END_ASTRAY] = QUALITY_ASTRAY,
		[STACK_END_DEEP] = QUALITY_DEEP,
	};

	if (!stack->user_cnt || stack__reaches_start(stack))
		return 0;
	return qualities[stack->end];
}

static void judge_stacks(struct block *block)
{
	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct stack *stack = &block->samples[i].stack;
		unsigned quality = quality_of(stack);

		block->stack_quality |= quality;
		if (quality & (QUALITY_NO_TABLE | QUALITY_ASTRAY) && !block->quality_module)
			block->quality_module = stack->end_module;
	}
}

static void blame_frames(struct analysis *analysis)
{
	struct cause *cause = &analysis->block->cause;

	for (size_t i = 0; i < cause->part_cnt; i++) {
		struct cause_part *part = &cause->parts[i];

		part->frame = culprit__frame(analysis, i, NULL);
		if (!part->frame && part->state == JANK_STATE_RUNNABLE &&
		    analysis->block->start_delay_ns <
			    analysis->block->state_ns[JANK_STATE_RUNNABLE])
			part->frame = culprit__running_frame(analysis); /* what it did before */
	}
}

static void take_first(struct cause *cause)
{
	cause->kind = cause->parts[0].kind;
	cause->what = cause->parts[0].what;
	cause->share = cause->parts[0].share;
	cause->frame = cause->parts[0].frame;
}

void blame__block(struct block *block)
{
	struct analysis analysis;

	java_message__name(block);
	if (analysis__read(&analysis, block))
		return;
	breakdown__divide(&analysis);
	blame_frames(&analysis);
	take_first(&block->cause);
	signature__make(&analysis);
	block->cause.confidence = confidence__of(&analysis);
	free(block->cause.summary);
	block->cause.summary = sentence__make(&analysis);
	judge_stacks(block);
	analysis__free(&analysis);
}
