/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kinds and their shares come from the account, which is exact; stacks, system calls and what was waited for say
 * more of each: its parts (parts.c), its functions (worst.c), how sure that is (confidence.c), and all of it in
 * words (sentence.c).
 */
#include "verdict/blame.h"

#include <stdlib.h>

#include "model/stack.h"
#include "verdict/confidence.h"
#include "verdict/culprit.h"
#include "verdict/parts.h"
#include "verdict/sentence.h"
#include "verdict/signature.h"

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

static void blame_frames(struct proof *proof)
{
	struct cause *cause = &proof->block->cause;

	for (size_t i = 0; i < cause->part_cnt; i++) {
		struct cause_part *part = &cause->parts[i];

		part->frame = worst__frame(proof, i, NULL);
		if (!part->frame && part__state(part) == JANK_STATE_RUNNABLE &&
		    proof->block->start_delay_ns < proof->block->state_ns[JANK_STATE_RUNNABLE])
			part->frame = worst__running_frame(proof); /* what it did before */
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
	struct proof proof;

	if (proof__read(&proof, block))
		return;
	parts__divide(&proof);
	blame_frames(&proof);
	take_first(&block->cause);
	signature__make(&proof);
	block->cause.confidence = confidence__of(&proof);
	free(block->cause.summary);
	block->cause.summary = sentence__make(&proof);
	judge_stacks(block);
	proof__free(&proof);
}
