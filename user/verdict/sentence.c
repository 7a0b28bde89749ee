/* SPDX-License-Identifier: GPL-2.0 */
/* Who, then a clause for each part: only what was seen, and what is not known is left out. */
#include "verdict/sentence.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "verdict/sentence_parts.h"
#include "verdict/words.h"

#define CLAUSE_MAX 3

static void add_who(struct strbuf *sb, const struct block *block)
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

void clause__add_verb(struct clause *c, const char *past, const char *going_on)
{
	strbuf__addf(c->sb, c->open ? " has been %s for " : " %s ", c->open ? going_on : past);
	clock__add_duration(c->sb, c->ns);
}

void sentence__add_collector(struct strbuf *sb, const struct block *block,
			     const struct moment *moment)
{
	const struct frame *caller, *outer = what__collector(moment, &caller);

	if (!outer)
		return;
	strbuf__adds(sb, " (");
	words__add_function(sb, outer);
	strbuf__adds(sb, ")");
	if (!caller)
		return;
	strbuf__adds(sb, " ← ");
	words__add_place(sb, block, caller);
}

/* Does the part go on? One that runs does when no other's span is open. */
static bool is_open(const struct proof *proof, const struct clause *c)
{
	bool any = false;

	if (proof->block->type != BLOCK_HANG || c->nr)
		return false;
	if (!proof->block->duration_ns) /* it has not begun */
		return true;
	for (size_t i = 0; i < proof->block->sample_cnt; i++) {
		any |= proof->block->samples[i].open;
		if (proof->block->samples[i].open && proof__weight(proof, i, c->nr))
			return true;
	}
	return !any && part__state(c->part) == JANK_STATE_RUNNING;
}

static void add_clause(struct strbuf *sb, const struct proof *proof, size_t nr)
{
	struct clause c = {
		.sb = sb,
		.proof = proof,
		.block = proof->block,
		.nr = nr,
		.part = &proof->block->cause.parts[nr],
		.sample = proof__main_sample(proof, nr),
	};
	uint32_t state = part__state(c.part);

	c.ns = (uint64_t)(c.part->share * (double)block__delay(proof->block) + 0.5);
	c.open = is_open(proof, &c);
	if (state == JANK_STATE_RUNNING)
		clause__add_busy(&c);
	else if (state == JANK_STATE_RUNNABLE)
		clause__add_runnable(&c);
	else
		clause__add_wait(&c);
}

char *sentence__make(const struct proof *proof)
{
	struct strbuf sb = STRBUF_INIT;

	add_who(&sb, proof->block);
	for (size_t i = 0; i < proof->block->cause.part_cnt && i < CLAUSE_MAX; i++) {
		if (i)
			strbuf__adds(&sb, "; also");
		add_clause(&sb, proof, i);
	}
	if (sb.failed) {
		strbuf__free(&sb);
		return NULL;
	}
	return sb.data;
}
