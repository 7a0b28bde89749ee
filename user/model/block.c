/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The block's life and its words. Nothing here judges: what a block says was decided by the judge
 * and by blame; this file makes it, frees it and knows the contract's names for its numbers.
 */
#include "model/block.h"

#include <stdlib.h>

#include "base/anr.h"
#include "model/link.h"
#include "model/sample.h"

struct block *block__new(void)
{
	return calloc(1, sizeof(struct block));
}

void block__free(struct block *block)
{
	if (!block)
		return;
	samples__free(block->samples, block->sample_cnt);
	links__free(block->chain, block->chain_cnt);
	tasks__free(block->preemptors, block->preemptor_cnt);
	free(block->cause.summary);
	free(block->lost);
	free(block->host.name);
	free(block->host.kernel);
	free(block->host.arch);
	free(block->host.boot_id);
	free(block->process);
	free(block->thread);
	free(block->exe);
	free(block->cgroup);
	free(block->facts.live.quota_cgroup);
	free(block->container);
	free(block->pod);
	free(block->unit);
	free(block->role);
	stack__free(&block->idle_place);
	free(block->id);
	message__free(block->message);
	free(block);
}

size_t block__drop_evidence(struct block *block)
{
	size_t cnt = block->sample_cnt;

	samples__free(block->samples, cnt);
	block->samples = NULL;
	block->sample_cnt = 0;
	links__cut(&block->chain, &block->chain_cnt, 0);
	block->chain_sample = 0;
	return cnt;
}

void summary__free(struct summary *summary)
{
	if (!summary)
		return;
	for (size_t i = 0; i < summary->loop_cnt; i++)
		free(summary->loops[i].process);
	free(summary->loops);
	free(summary->lost);
	unwatched__free(&summary->unwatched);
	summary->loops = NULL;
	summary->loop_cnt = 0;
	summary->lost = NULL;
	summary->lost_cnt = 0;
}

size_t block__bytes(const struct block *block)
{
	size_t sum = sizeof(*block) + block->preemptor_cnt * sizeof(*block->preemptors) +
		     message__bytes(block->message);

	sum += stack__bytes(&block->idle_place);
	for (size_t i = 0; i < block->sample_cnt; i++)
		sum += sample__bytes(&block->samples[i]);
	for (size_t i = 0; i < block->chain_cnt; i++)
		sum += link__bytes(&block->chain[i]);
	return sum;
}

struct stack *block__stack(const struct block *block, size_t nr, uint32_t *tid)
{
	struct link *link;

	*tid = block->tid;
	if (nr < block->sample_cnt)
		return &block->samples[nr].stack;
	nr -= block->sample_cnt;
	if (nr / 2 >= block->chain_cnt)
		return NULL;
	link = &block->chain[nr / 2];
	*tid = link->task.tid;
	return nr % 2 ? &link->wake_stack : &link->stack;
}

#define X_STATE(nr, NAME, key) [nr] = key,
#define X_LOOP(nr, NAME, key)  [nr] = key,
static const char *const state_names[] = { JANK_STATES(X_STATE) };
static const char *const loop_names[] = { JANK_LOOPS(X_LOOP) };

const char *state__name(uint32_t state)
{
	if (state >= sizeof(state_names) / sizeof(*state_names))
		return "other";
	return state_names[state];
}

const char *loop__name(uint32_t loop)
{
	if (loop >= sizeof(loop_names) / sizeof(*loop_names) || !loop_names[loop])
		return "unknown";
	return loop_names[loop];
}

const char *hist__loop(const struct loop_hist *hist)
{
	return hist->loop_name ? hist->loop_name : loop__name(hist->loop);
}

const char *block__loop(const struct block *block)
{
	return block->loop_name ? block->loop_name : loop__name(block->loop);
}

bool block__turns_unknown(const struct block *block)
{
	return block->loop == JANK_LOOP_PARK && !block->message;
}

uint64_t block__delay(const struct block *block)
{
	return block->start_delay_ns + block->duration_ns;
}

uint64_t block__runnable(const struct block *block)
{
	return block->start_delay_ns + block->state_ns[JANK_STATE_RUNNABLE];
}

uint64_t block__due(const struct block *block)
{
	return block->start_ns - block->start_delay_ns;
}

uint32_t hang__number(enum block_type type, uint64_t delay_ns)
{
	return type == BLOCK_HANG ? 1 + anr__exceeded(delay_ns) : 0;
}

uint32_t block__hang(const struct block *block)
{
	return hang__number(block->type, block__delay(block));
}

const char *block__severity(const struct block *block)
{
	bool hang = block->type == BLOCK_HANG || block->hang_reported || block->over_hang;

	return hang ? "hang" : "jank";
}
