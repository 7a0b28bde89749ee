/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The distinct stacks of a block with their share of its time, longest first; -v shows all of them.
 */
#include "export/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/shared_words.h"

/*
 * --- merging of equal stacks: a stack seen fifty times is shown once, with its time. Sorting by a
 * hash keeps that fast for a hang with tens of thousands of samples.
 */

struct keyed {
	uint64_t hash;
	const struct sample *sample;
};

/* True for a tick of the sampler; false for a span. */
static bool sample__is_tick(const struct sample *sample)
{
	return sample->state == JANK_STATE_RUNNING && !sample->ns;
}

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		hash = (hash ^ *p++) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

static uint64_t mix_frame(uint64_t hash, const struct frame *frame)
{
	if (frame->function)
		return mix(hash, frame->function, strlen(frame->function));
	if (frame->module)
		return mix(hash, &frame->offset, sizeof(frame->offset));
	return mix(hash, &frame->address, sizeof(frame->address));
}

static uint64_t hash_sample(const struct sample *sample)
{
	size_t cnt = stack__frame_cnt(&sample->stack);
	uint64_t hash = 0xcbf29ce484222325ull;

	hash = mix(hash, &sample->state, sizeof(sample->state));
	hash = mix(hash, &sample->syscall, sizeof(sample->syscall));
	for (size_t i = 0; i < cnt; i++) {
		struct frame frame = stack__frame(&sample->stack, i);

		hash = mix_frame(hash, &frame);
	}
	return hash;
}

static bool same_stack(const struct sample *a, const struct sample *b)
{
	size_t cnt = stack__frame_cnt(&a->stack);

	if (a->state != b->state || a->syscall != b->syscall ||
	    sample__is_tick(a) != sample__is_tick(b) || cnt != stack__frame_cnt(&b->stack))
		return false;
	for (size_t i = 0; i < cnt; i++) {
		struct frame fa = stack__frame(&a->stack, i), fb = stack__frame(&b->stack, i);

		if (!frame__same(&fa, &fb))
			return false;
	}
	return true;
}

static int by_hash(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* Longest first; of equal ones, the earlier one first. */
static int by_ns(const void *pa, const void *pb)
{
	const struct fold *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static bool same_waker(const struct sample *a, const struct sample *b)
{
	return a->has_waker == b->has_waker && (!a->has_waker || a->waker.tid == b->waker.tid);
}

static bool same_wait(const struct wait_object *a, const struct wait_object *b)
{
	if (!a || !b)
		return a == b;
	return text__same(a->path, b->path) && text__same(a->target, b->target) &&
	       text__same(a->peer, b->peer) && a->owner.tid == b->owner.tid;
}

static void fold__add(struct fold *fold, const struct sample *sample)
{
	fold->cnt++;
	fold->ns += sample->ns;
	fold->runnable_ns += sample->runnable_ns;
	fold->other_wakers |= !same_waker(fold->sample, sample);
	fold->other_waits |= !same_wait(fold->sample->waited, sample->waited);
	if (sample->ns > fold->sample->ns)
		fold->sample = sample;
}

static size_t merge(const struct keyed *keyed, size_t cnt, struct fold *folds)
{
	size_t fold_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct fold *last = fold_cnt ? &folds[fold_cnt - 1] : NULL;

		if (!i || keyed[i].hash != keyed[i - 1].hash ||
		    !same_stack(last->sample, keyed[i].sample))
			folds[fold_cnt++] = (struct fold){ .sample = keyed[i].sample };
		fold__add(&folds[fold_cnt - 1], keyed[i].sample);
	}
	return fold_cnt;
}

/* Each tick stands for an equal part of the running time; the rounding error is distributed too. */
static void weigh_ticks(const struct block *block, struct fold *folds, size_t cnt)
{
	unsigned __int128 ns = block->state_ns[JANK_STATE_RUNNING];
	uint64_t ticks = 0, seen = 0, given = 0;

	for (size_t i = 0; i < cnt; i++)
		ticks += sample__is_tick(folds[i].sample) ? folds[i].cnt : 0;
	for (size_t i = 0; i < cnt; i++) {
		if (!sample__is_tick(folds[i].sample))
			continue;
		seen += folds[i].cnt;
		folds[i].ns = (uint64_t)(ns * seen / ticks) - given;
		given += folds[i].ns;
	}
}

int fold__block(const struct block *block, struct fold **ret, size_t *ret_cnt)
{
	size_t cnt = block->sample_cnt;
	struct keyed *keyed = calloc(cnt + 1, sizeof(*keyed));
	struct fold *folds = calloc(cnt + 1, sizeof(*folds));
	int err = -ENOMEM;

	if (!keyed || !folds)
		goto out;
	for (size_t i = 0; i < cnt; i++)
		keyed[i] = (struct keyed){ hash_sample(&block->samples[i]), &block->samples[i] };
	qsort(keyed, cnt, sizeof(*keyed), by_hash);
	cnt = merge(keyed, cnt, folds);
	weigh_ticks(block, folds, cnt);
	qsort(folds, cnt, sizeof(*folds), by_ns);
	*ret = folds;
	*ret_cnt = cnt;
	folds = NULL;
	err = 0;
out:
	free(folds);
	free(keyed);
	return err;
}

#define STACKS_MAX    6
#define CPU_WAIT_PART 500 /* of a span: shorter waits for a CPU are not shown */

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

/* Puts the wait object next to the head if it fits, else below it. */
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

static void put_rest(struct text *t, const struct block *block, const char *label, uint64_t ns)
{
	text__putf(t, STYLE_BOLD, "   %4s  ", text__pct(ns, block__delay(block)).str);
	text__putf(t, STYLE_DIM, "%s ", label);
	text__put_duration(t, STYLE_DIM, ns);
	text__nl(t);
}

/* Puts the time that the shown stacks do not cover: more stacks, and time without a stack. */
static void put_rests(struct text *t, const struct block *block, const struct fold *folds,
		      size_t cnt, size_t shown)
{
	uint64_t covered = 0, hidden = 0;
	char label[64];

	for (size_t i = 0; i < cnt; i++) {
		covered += folds[i].ns;
		hidden += i >= shown ? folds[i].ns : 0;
	}
	if (cnt > shown) {
		snprintf(label, sizeof(label), "%zu more stack%s", cnt - shown,
			 cnt - shown == 1 ? "" : "s");
		put_rest(t, block, label, hidden);
	}
	if (covered < block->duration_ns &&
	    block->duration_ns - covered > block__delay(block) / 100)
		put_rest(t, block, "without a stack", block->duration_ns - covered);
}

static void put_quality(struct text *t, const struct block *block)
{
	struct strbuf words = STRBUF_INIT;

	/* A dispatch that was only late has no stack. */
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
