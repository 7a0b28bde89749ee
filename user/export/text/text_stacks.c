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
#include "export/values.h"
#include "model/pid.h"

/*
 * --- merging of equal stacks: a stack seen fifty times is shown once, with its time. Sorting by a
 * hash keeps that fast for a hang with tens of thousands of samples.
 */

struct keyed {
	uint64_t hash;
	const Jankbpf__Sample *sample;
	size_t nr; /* of the sample */
};

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		hash = (hash ^ *p++) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

static uint64_t mix_frame(uint64_t hash, const Jankbpf__Frame *frame)
{
	if (frame->function)
		return mix(hash, frame->function, strlen(frame->function));
	if (frame->module)
		return mix(hash, &frame->offset, sizeof(frame->offset));
	return mix(hash, &frame->address, sizeof(frame->address));
}

/*
 * Where stacks are compared from: the first frame of user space with a name, or the first frame
 * with one. So the samples of a function count as one, wherever in it, or in code without names
 * that it called, they were taken.
 */
static size_t first_named(const Jankbpf__Sample *sample)
{
	size_t named = sample->n_stack;

	for (size_t i = 0; i < sample->n_stack; i++) {
		const Jankbpf__Frame *frame = sample->stack[i];

		if (!frame->function || !*frame->function)
			continue;
		if (!frame->kernel)
			return i;
		if (named == sample->n_stack)
			named = i;
	}
	return named < sample->n_stack ? named : 0;
}

/*
 * Numbers, as the probes send them: the hash decides which of several equal stacks gets the rest of
 * a division (weigh_ticks), and so the order in which they are shown.
 */
static uint64_t hash_sample(const Jankbpf__Sample *sample)
{
	uint32_t state = value__state(sample->state);
	int32_t syscall = syscall__nr(sample->syscall);
	uint64_t hash = 0xcbf29ce484222325ull;

	hash = mix(hash, &state, sizeof(state));
	hash = mix(hash, &syscall, sizeof(syscall));
	for (size_t i = first_named(sample); i < sample->n_stack; i++)
		hash = mix_frame(hash, sample->stack[i]);
	return hash;
}

static bool same_stack(const Jankbpf__Sample *a, const Jankbpf__Sample *b)
{
	size_t i = first_named(a), j = first_named(b);

	if (!text__same(a->state, b->state) || !text__same(a->syscall, b->syscall) ||
	    value__is_tick(a) != value__is_tick(b) || a->n_stack - i != b->n_stack - j)
		return false;
	for (; i < a->n_stack; i++, j++)
		if (!frame__same(a->stack[i], b->stack[j]))
			return false;
	return true;
}

static int by_hash(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

/* Longest first; of equal ones, the earlier one first. */
static int by_ns(const void *pa, const void *pb)
{
	const struct fold *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

static bool same_waker(const Jankbpf__Sample *a, const Jankbpf__Sample *b)
{
	return !a->waker == !b->waker && (!a->waker || a->waker->tid == b->waker->tid);
}

static uint32_t owner_of(const Jankbpf__WaitedFor *waited)
{
	return waited->futex_owner ? waited->futex_owner->tid : 0;
}

static bool same_wait(const Jankbpf__WaitedFor *a, const Jankbpf__WaitedFor *b)
{
	if (!a || !b)
		return a == b;
	return text__same(a->path, b->path) && text__same(a->target, b->target) &&
	       text__same(a->peer, b->peer) && owner_of(a) == owner_of(b);
}

static void fold__add(struct fold *fold, const struct keyed *keyed)
{
	const Jankbpf__Sample *sample = keyed->sample;

	fold->cnt++;
	fold->ns += sample->ns;
	fold->runnable_ns += sample->runnable_ns;
	fold->other_wakers |= !same_waker(fold->sample, sample);
	fold->other_waits |= !same_wait(fold->sample->waited_for, sample->waited_for);
	if (sample->ns > fold->sample->ns) {
		fold->sample = sample;
		fold->nr = keyed->nr;
	}
}

static size_t merge(const struct keyed *keyed, size_t cnt, struct fold *folds)
{
	size_t fold_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct fold *last = fold_cnt ? &folds[fold_cnt - 1] : NULL;

		if (!i || keyed[i].hash != keyed[i - 1].hash ||
		    !same_stack(last->sample, keyed[i].sample))
			folds[fold_cnt++] =
				(struct fold){ .sample = keyed[i].sample, .nr = keyed[i].nr };
		fold__add(&folds[fold_cnt - 1], &keyed[i]);
	}
	return fold_cnt;
}

/* Each tick stands for an equal part of the running time; the rounding error is distributed too. */
static void weigh_ticks(const Jankbpf__Block *block, struct fold *folds, size_t cnt)
{
	unsigned __int128 ns = value__in_state(block->time, JANK_STATE_RUNNING);
	uint64_t ticks = 0, seen = 0, given = 0;

	for (size_t i = 0; i < cnt; i++)
		ticks += value__is_tick(folds[i].sample) ? folds[i].cnt : 0;
	for (size_t i = 0; i < cnt; i++) {
		if (!value__is_tick(folds[i].sample))
			continue;
		seen += folds[i].cnt;
		folds[i].ns = (uint64_t)(ns * seen / ticks) - given;
		given += folds[i].ns;
	}
}

int fold__block(const Jankbpf__Block *block, struct fold **ret, size_t *ret_cnt)
{
	size_t cnt = block->n_samples;
	struct keyed *keyed = calloc(cnt + 1, sizeof(*keyed));
	struct fold *folds = calloc(cnt + 1, sizeof(*folds));
	int err = -ENOMEM;

	if (!keyed || !folds)
		goto out;
	for (size_t i = 0; i < cnt; i++)
		keyed[i] = (struct keyed){ hash_sample(block->samples[i]), block->samples[i], i };
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

#define LINES_MAX     25 /* of a block, with the empty line at its end */
#define FRAMES_MAX    10
#define FRAMES_MIN    2
#define HEAD_LINES    2	  /* of a stack, at most */
#define LINES_AFTER   5	  /* the stacks: two rests, quality, losses, an empty line */
#define CPU_WAIT_PART 500 /* of a span: shorter waits for a CPU are not shown */

static void put_process(struct text *t, uint32_t pid)
{
	struct strbuf words = STRBUF_INIT;

	pid__add(&words, pid);
	text__putf(t, STYLE_NONE, " (%s)", strbuf__str(&words));
	strbuf__free(&words);
}

static void put_waker(struct text *t, const Jankbpf__Block *block, const struct fold *fold)
{
	const Jankbpf__Waker *waker = fold->sample->waker;

	if (!waker)
		return;
	if (!waker->tid) {
		text__put(t, STYLE_NONE, ", woken by an interrupt");
	} else {
		text__put(t, STYLE_NONE,
			  waker->softirq ? ", woken by a soft interrupt on " : ", woken by ");
		text__put(t, STYLE_BOLD, value__name(waker->comm));
		if (waker->pid == block->pid)
			text__putf(t, STYLE_NONE, " (its tid %" PRIu32 ")", waker->tid);
		else
			put_process(t, waker->pid);
	}
	if (fold->other_wakers)
		text__put(t, STYLE_NONE, " and others");
}

static void put_fold_head(struct text *t, const Jankbpf__Block *block, const struct fold *fold)
{
	const Jankbpf__Sample *sample = fold->sample;
	uint32_t state = value__state(sample->state);
	struct strbuf ns = STRBUF_INIT;

	clock__add_duration(&ns, fold->ns);
	text__putf(t, STYLE_BOLD, "   %4s  ", text__pct(fold->ns, value__delay(block)).str);
	text__put_in_state(t, state, text__state_cell(state));
	text__put(t, STYLE_NONE, " ");
	text__put_in_state(t, state, value__name(sample->state));
	text__putf(t, STYLE_NONE, " %s", strbuf__str(&ns));
	strbuf__free(&ns);
	if (sample->syscall)
		text__putf(t, STYLE_NONE, " in %s()", sample->syscall);
	if (value__is_tick(sample) || fold->cnt > 1) {
		text__put(t, STYLE_NONE, ", ");
		text__put_count(t, STYLE_NONE, fold->cnt,
				value__is_tick(sample) ? "sample" : "time");
	}
	if (sample->open)
		text__put(t, STYLE_HANG, ", not over yet");
	put_waker(t, block, fold);
}

/* Puts the wait object next to the head if it fits, else below it. */
static void put_waited(struct text *t, const struct fold *fold)
{
	const Jankbpf__Sample *sample = fold->sample;
	struct strbuf words = STRBUF_INIT;

	wait__add_phrase(&words, sample->waited_for, sample->waker ? sample->waker->tid : 0,
			 sample->syscall, text__shows_all(t));
	if (words.len && fold->other_waits)
		strbuf__adds(&words, ", and others");
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_wake_up(struct text *t, const struct fold *fold)
{
	struct strbuf words = STRBUF_INIT;

	if (value__state(fold->sample->state) == JANK_STATE_RUNNABLE ||
	    fold->runnable_ns <= fold->ns / CPU_WAIT_PART)
		return;
	strbuf__adds(&words, "then for a CPU ");
	clock__add_duration(&words, fold->runnable_ns);
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_rest(struct text *t, const Jankbpf__Block *block, const char *label, uint64_t ns)
{
	text__putf(t, STYLE_BOLD, "   %4s  ", text__pct(ns, value__delay(block)).str);
	text__putf(t, STYLE_DIM, "%s ", label);
	text__put_duration(t, STYLE_DIM, ns);
	text__nl(t);
}

/* Puts the time that the shown stacks do not cover: more stacks, and time without a stack. */
static void put_rests(struct text *t, const Jankbpf__Block *block, const struct fold *folds,
		      size_t cnt, size_t shown)
{
	uint64_t covered = 0, hidden = 0;
	char label[64];

	for (size_t i = 0; i < cnt; i++) {
		covered += folds[i].ns;
		hidden += i >= shown ? folds[i].ns : 0;
	}
	if (cnt > shown && text__is_shown_part(t, hidden, value__delay(block))) {
		snprintf(label, sizeof(label), "%zu more stack%s", cnt - shown,
			 cnt - shown == 1 ? "" : "s");
		put_rest(t, block, label, hidden);
	}
	if (covered < block->duration_ns &&
	    block->duration_ns - covered > value__delay(block) / 100)
		put_rest(t, block, "without a stack", block->duration_ns - covered);
}

static void put_quality(struct text *t, const Jankbpf__Block *block)
{
	const char *quality = block->stack_quality;

	/* A dispatch that was only late has no stack. */
	if (!quality || !strcmp(quality, "complete") ||
	    (!block->n_samples && block->start_delay_ns > block->duration_ns))
		return;
	text__putf(t, STYLE_DIM, "   stacks: %s", quality);
	text__nl(t);
}

/* A block has no limit of lines with -v, or if the user wants more stacks. */
static bool is_short(const struct text *t)
{
	return !text__shows_all(t) && t->opts.stacks <= STACKS_DEFAULT;
}

/* Of the block, with so many stacks: the fewest frames of each, a line of the kernel's, a note. */
static size_t lines_with(const struct text *t, size_t stacks)
{
	return t->lines + LINES_AFTER + stacks * (HEAD_LINES + 2 + FRAMES_MIN);
}

/* The stacks to show: those of --stacks with 1 % of the time at least. */
static size_t shown_of(const struct text *t, const Jankbpf__Block *block, const struct fold *folds,
		       size_t cnt)
{
	size_t shown = 0;

	while (shown < cnt && (text__shows_all(t) || shown < t->opts.stacks) &&
	       text__is_shown_part(t, folds[shown].ns, value__delay(block)))
		shown++;
	while (shown > 1 && is_short(t) && lines_with(t, shown) > LINES_MAX)
		shown--;
	return shown;
}

/* Frames of the next stack, of `left` stacks: as many lines as the block may still have. */
static size_t frame_room(const struct text *t, size_t left)
{
	size_t used = lines_with(t, left) - FRAMES_MIN;
	size_t room = used < LINES_MAX ? LINES_MAX - used : 0;

	if (!is_short(t))
		return text__shows_all(t) ? SIZE_MAX : FRAMES_MAX;
	return room > FRAMES_MAX ? FRAMES_MAX : room < FRAMES_MIN ? FRAMES_MIN : room;
}

void text__add_stacks(struct text *t, const Jankbpf__Block *block)
{
	struct frames stack, above;
	struct fold *folds = NULL;
	size_t cnt = 0, shown;

	if (fold__block(block, &folds, &cnt)) {
		t->out.failed = true;
		return;
	}
	shown = shown_of(t, block, folds, cnt);
	for (size_t i = 0; i < shown; i++) {
		size_t room = frame_room(t, shown - i);

		put_fold_head(t, block, &folds[i]);
		put_waited(t, &folds[i]);
		put_wake_up(t, &folds[i]);
		text__nl(t);
		stack = (struct frames){ folds[i].sample->stack, folds[i].sample->n_stack };
		text__add_frames(t, block, &stack, i ? &above : NULL, room);
		above = stack;
	}
	put_rests(t, block, folds, cnt, shown);
	put_quality(t, block);
	free(folds);
}
