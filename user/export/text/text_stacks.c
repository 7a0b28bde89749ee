/* SPDX-License-Identifier: GPL-2.0 */
/* The distinct stacks of a block with their share of its time, worst first; -v shows all of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/quality.h"
#include "export/text/fold.h"
#include "export/text/text.h"
#include "export/wait.h"

#define STACKS_MAX    6
#define CPU_WAIT_PART 500 /* of a span: a shorter wait for a CPU isn't worth the words */

static void put_waker(struct text *t, const struct block *block, const struct fold *fold)
{
	const struct sample *sample = fold->sample;
	const struct other_task *waker = &sample->waker;

	if (!sample->has_waker)
		return;
	if (!waker->tid) {
		text__put(t, STYLE_NONE, ", woken by an interrupt");
	} else {
		text__put(t, STYLE_NONE,
			  sample->waker_softirq ? ", woken by a soft interrupt on "
						: ", woken by ");
		text__put(t, STYLE_BOLD, waker->comm);
		if (waker->pid == block->pid)
			text__putf(t, STYLE_NONE, " (its tid %" PRIu32 ")", waker->tid);
		else
			text__putf(t, STYLE_NONE, " (pid %" PRIu32 ")", waker->pid);
	}
	if (fold->other_wakers)
		text__put(t, STYLE_NONE, " and others");
}

static void put_fold_head(struct text *t, const struct block *block, const struct fold *fold)
{
	const struct sample *sample = fold->sample;
	struct strbuf ns = STRBUF_INIT;

	clock__add_duration(&ns, fold->ns);
	text__putf(t, STYLE_BOLD, "   %4s  ", text__pct(fold->ns, block__delay(block)).str);
	text__put_in_state(t, sample->state, text__state_cell(sample->state));
	text__put(t, STYLE_NONE, " ");
	text__put_in_state(t, sample->state, state__name(sample->state));
	text__putf(t, STYLE_NONE, " %s", strbuf__str(&ns));
	strbuf__free(&ns);
	if (sample->syscall_name)
		text__putf(t, STYLE_NONE, " in %s()", sample->syscall_name);
	if (sample__is_tick(sample) || fold->cnt > 1) {
		text__put(t, STYLE_NONE, ", ");
		text__put_count(t, STYLE_NONE, fold->cnt,
				sample__is_tick(sample) ? "sample" : "time");
	}
	if (sample->open)
		text__put(t, STYLE_HANG, ", not over yet");
	put_waker(t, block, fold);
}

/* Beside the head where it fits, else below it. */
static void put_waited(struct text *t, const struct fold *fold)
{
	const struct sample *sample = fold->sample;
	struct strbuf words = STRBUF_INIT;

	wait__add_phrase(&words, sample->waited, sample->has_waker ? sample->waker.tid : 0,
			 sample->syscall_name, text__shows_all(t));
	if (words.len && fold->other_waits)
		strbuf__adds(&words, ", and others");
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_wake_up(struct text *t, const struct fold *fold)
{
	struct strbuf words = STRBUF_INIT;

	if (fold->sample->state == JANK_STATE_RUNNABLE ||
	    fold->runnable_ns <= fold->ns / CPU_WAIT_PART)
		return;
	strbuf__adds(&words, "then for a CPU ");
	clock__add_duration(&words, fold->runnable_ns);
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_rest(struct text *t, const struct block *block, const char *what, uint64_t ns)
{
	text__putf(t, STYLE_BOLD, "   %4s  ", text__pct(ns, block__delay(block)).str);
	text__putf(t, STYLE_DIM, "%s ", what);
	text__put_duration(t, STYLE_DIM, ns);
	text__nl(t);
}

/* Says what of the time the stacks shown don't cover: more stacks, and time without any. */
static void put_rests(struct text *t, const struct block *block, const struct fold *folds,
		      size_t cnt, size_t shown)
{
	uint64_t covered = 0, hidden = 0;
	char what[64];

	for (size_t i = 0; i < cnt; i++) {
		covered += folds[i].ns;
		hidden += i >= shown ? folds[i].ns : 0;
	}
	if (cnt > shown) {
		snprintf(what, sizeof(what), "%zu more stack%s", cnt - shown,
			 cnt - shown == 1 ? "" : "s");
		put_rest(t, block, what, hidden);
	}
	if (covered < block->duration_ns &&
	    block->duration_ns - covered > block__delay(block) / 100)
		put_rest(t, block, "without a stack", block->duration_ns - covered);
}

static void put_quality(struct text *t, const struct block *block)
{
	struct strbuf words = STRBUF_INIT;

	/* Of a dispatch that was only late there is no stack to be had. */
	if (!block->stack_quality ||
	    (!block->sample_cnt && block->start_delay_ns > block->duration_ns))
		return;
	quality__add(&words, block);
	text__putf(t, STYLE_DIM, "   stacks: %s", strbuf__str(&words));
	text__nl(t);
	strbuf__free(&words);
}

void text__add_stacks(struct text *t, const struct block *block)
{
	struct fold *folds = NULL;
	size_t cnt = 0, shown;

	if (fold__block(block, &folds, &cnt)) {
		t->out.failed = true;
		return;
	}
	shown = text__shows_all(t) || cnt <= STACKS_MAX ? cnt : STACKS_MAX;
	for (size_t i = 0; i < shown; i++) {
		put_fold_head(t, block, &folds[i]);
		put_waited(t, &folds[i]);
		put_wake_up(t, &folds[i]);
		text__nl(t);
		text__add_frames(t, block, &folds[i].sample->stack);
	}
	put_rests(t, block, folds, cnt, shown);
	put_quality(t, block);
	free(folds);
}
