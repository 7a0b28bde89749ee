/* SPDX-License-Identifier: GPL-2.0 */
/* What each sample tells is found out once, for all who ask. */
#include "verdict/proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/chain/what.h"
#include "model/stack.h"

/* A wait for a thread of a runtime's collector is one for the collector, whatever the lock between them. */
static const char *what_of_chain(const struct block *block)
{
	const char *ret = NULL;

	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct link *link = &block->chain[i];
		const struct stack *const stacks[] = { &link->stack, &link->wake_stack };

		for (size_t j = 0; j < 2; j++) {
			struct moment moment = { .state = JANK_STATE_RUNNING, .stack = stacks[j] };
			const char *what = what__of(&moment);

			if (what && !strcmp(what, "gc"))
				return what;
		}
		if (!ret || strcmp(ret, "gc"))
			ret = what__of_thread(link->task.comm) ? what__of_thread(link->task.comm)
							       : ret;
	}
	return ret;
}

int proof__read(struct proof *proof, struct block *block)
{
	size_t cnt = block->sample_cnt;

	*proof = (struct proof){ .block = block,
				 .what = calloc(cnt + 1, sizeof(*proof->what)),
				 .part = calloc(cnt + 1, sizeof(*proof->part)) };
	if (!proof->what || !proof->part) {
		proof__free(proof);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++) {
		struct moment moment = moment__of_sample(&block->samples[i]);

		proof->what[i] = what__of(&moment);
		proof->part[i] = -1;
	}
	if (block->chain_cnt && block->chain_sample < cnt) {
		struct moment moment = moment__of_chain(block);
		const char *what = what_of_chain(block);

		proof->what[block->chain_sample] = what ? what : what__of(&moment);
	}
	return 0;
}

void proof__free(struct proof *proof)
{
	free(proof->what);
	free(proof->part);
	proof->what = NULL;
	proof->part = NULL;
}

uint32_t part__state(const struct cause_part *part)
{
	for (uint32_t state = 0; state < JANK_STATE_CNT; state++)
		if (!strcmp(state__name(state), part->kind))
			return state;
	return JANK_STATE_RUNNING; /* "cpu", "kernel" */
}

uint64_t proof__weight(const struct proof *proof, size_t i, size_t part)
{
	const struct sample *sample = &proof->block->samples[i];
	uint32_t state = part__state(&proof->block->cause.parts[part]);

	if (sample->state != state)
		return state == JANK_STATE_RUNNABLE ? sample->runnable_ns : 0;
	if (proof->part[i] != (int)part)
		return 0;
	if (state != JANK_STATE_RUNNABLE && sample->ns > sample->runnable_ns)
		return sample->ns - sample->runnable_ns;
	return sample->ns ? sample->ns : 1;
}

static bool is_in(const struct sample *sample, const struct frame *frame)
{
	const struct frame *app = stack__frame_in(&sample->stack, sample->state);

	return app && stack__same_code(app, frame);
}

const struct sample *proof__main_sample(const struct proof *proof, size_t part)
{
	const struct frame *frame = proof->block->cause.parts[part].frame;
	const struct sample *ret = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < proof->block->sample_cnt; i++) {
		const struct sample *sample = &proof->block->samples[i];
		uint64_t weight = proof__weight(proof, i, part);

		if (weight <= most || (frame && !is_in(sample, frame)))
			continue;
		most = weight;
		ret = sample;
	}
	return ret;
}

bool proof__has_chain(const struct proof *proof, size_t part)
{
	const struct block *block = proof->block;

	return block->chain_cnt && block->chain_sample < block->sample_cnt &&
	       proof->part[block->chain_sample] == (int)part;
}

const struct link *proof__chain_end(const struct proof *proof, size_t part)
{
	size_t i = proof->block->chain_cnt;

	if (!proof__has_chain(proof, part))
		return NULL;
	while (i-- > 0)
		if (proof->block->chain[i].state < JANK_STATE_CNT)
			return &proof->block->chain[i];
	return &proof->block->chain[proof->block->chain_cnt - 1];
}
