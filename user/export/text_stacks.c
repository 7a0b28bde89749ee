/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The distinct stacks of a block with their share of its time, worst first. The kernel's frames
 * take one dim line, the one to blame is marked, repeated ones (recursion) are counted; -v shows
 * everything.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/fold.h"
#include "export/frame.h"
#include "export/quality.h"
#include "export/text.h"

#define STACKS_MAX     6
#define FRAMES_MAX     10
#define FRAME_INDENT   "          "
#define BLAMED_INDENT  "        ▸ "
#define MODULE_COLUMNS 32
#define CPU_WAIT_PART  500 /* of a span: a shorter wait for a CPU isn't worth the words */

static bool all(const struct text *t)
{
	return t->verbosity > 0;
}

/* "luaV_execute", or in full with -v; "+0x1234" or "0x7f…" for what has no name. */
static void frame__add_name(struct strbuf *sb, const struct text *t, const struct frame *frame)
{
	if (frame->function && !*frame->function)
		strbuf__addc(sb, '?');
	else if (frame->function && all(t))
		strbuf__addf(sb, "%s+0x%" PRIx64, frame->function, frame->offset);
	else if (frame->function)
		function__add_short(sb, frame->function, "<…>", false);
	else if (frame->module)
		strbuf__addf(sb, "+0x%" PRIx64, frame->offset);
	else
		strbuf__addf(sb, "0x%" PRIx64, frame->address);
}

/* Dim, where it is: "server.c:812  redis-server". The module is not said again on each line. */
static void put_place(struct text *t, const struct frame *frame, const struct frame *before)
{
	if (frame->inlined)
		text__put(t, STYLE_DIM, " inlined");
	if (frame->file) {
		text__putf(t, STYLE_DIM, "  %s", module__base(frame->file));
		if (frame->line)
			text__putf(t, STYLE_DIM, ":%" PRIu32, frame->line);
	}
	if (!all(t) && frame->function && before->module && frame->module &&
	    !strcmp(frame->module, before->module))
		return;
	if (frame->module)
		text__putf(t, STYLE_DIM, "  %s", module__base(frame->module));
	else if (frame->kernel)
		text__put(t, STYLE_DIM, "  kernel");
}

static void put_frame(struct text *t, const struct block *block, const struct frame *frame,
		      const struct frame *before, size_t times)
{
	const struct frame *blamed = block->cause.frame;
	enum style style = frame->app ? STYLE_BOLD : STYLE_DIM;
	struct strbuf name = STRBUF_INIT;
	unsigned room;

	text__put(t, STYLE_NONE,
		  blamed && frame__same(blamed, frame) ? BLAMED_INDENT : FRAME_INDENT);
	room = text__left(t);
	frame__add_name(&name, t, frame);
	text__put_cut(t, style, strbuf__str(&name),
		      room > 2 * MODULE_COLUMNS ? room - MODULE_COLUMNS : room);
	strbuf__free(&name);
	if (times > 1)
		text__putf(t, STYLE_NONE, " ×%zu", times);
	put_place(t, frame, before);
	text__nl(t);
}

/* How often the frame at i comes in a row. */
static size_t run_len(const struct stack *stack, size_t i, size_t cnt)
{
	struct frame first = stack__frame(stack, i);
	size_t len = 1;

	for (; i + len < cnt; len++) {
		struct frame next = stack__frame(stack, i + len);

		if (!frame__same(&first, &next))
			break;
	}
	return len;
}

static void put_note(struct text *t, const char *note)
{
	text__put(t, STYLE_NONE, FRAME_INDENT);
	text__put(t, STYLE_DIM, note);
	text__nl(t);
}

static bool is_scheduler(const struct frame *frame)
{
	return frame->function &&
	       (!strcmp(frame->function, "__schedule") || !strcmp(frame->function, "schedule"));
}

/*
 * The kernel's part in one line, leaf first; that it ends in the scheduler is no news for a span
 * off the CPU. Returns its number of frames.
 */
static size_t put_kernel_part(struct text *t, const struct stack *stack)
{
	size_t cnt = stack__frame_cnt(stack), i;
	struct strbuf line = STRBUF_INIT;

	for (i = 0; i < cnt; i++) {
		struct frame frame = stack__frame(stack, i);

		if (!frame.kernel)
			break;
		if (!line.len && is_scheduler(&frame) && i + 1 < cnt &&
		    stack__frame(stack, i + 1).kernel)
			continue;
		strbuf__adds(&line, line.len ? " ← " : "kernel: ");
		frame__add_name(&line, t, &frame);
	}
	if (i)
		put_note(t, strbuf__str(&line));
	strbuf__free(&line);
	return i;
}

static void put_frames(struct text *t, const struct block *block, const struct stack *stack)
{
	size_t cnt = stack__frame_cnt(stack), shown = 0, i = 0, len;
	struct frame frame, before = { 0 };
	char more[48];

	if (!all(t))
		i = put_kernel_part(t, stack);
	for (; i < cnt && (all(t) || shown < FRAMES_MAX); i += len, shown++) {
		frame = stack__frame(stack, i);
		len = all(t) ? 1 : run_len(stack, i, cnt);
		put_frame(t, block, &frame, &before, len);
		before = frame;
	}
	snprintf(more, sizeof(more), "… %zu more", cnt - i);
	if (i < cnt)
		put_note(t, more);
	else if (!cnt)
		put_note(t, "no frames");
}

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
	text__putf(t, STYLE_BOLD, "   %4s  ", text__pct(fold->ns, block->duration_ns).str);
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
	if (fold->runnable_ns > fold->ns / CPU_WAIT_PART && sample->state != JANK_STATE_RUNNABLE) {
		text__put(t, STYLE_NONE, ", then for a CPU ");
		text__put_duration(t, STYLE_NONE, fold->runnable_ns);
	}
	text__nl(t);
}

static void put_rest(struct text *t, const struct block *block, const char *what, uint64_t ns)
{
	text__putf(t, STYLE_BOLD, "   %4s  ", text__pct(ns, block->duration_ns).str);
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
	if (covered < block->duration_ns && block->duration_ns - covered > block->duration_ns / 100)
		put_rest(t, block, "without a stack", block->duration_ns - covered);
}

static void put_quality(struct text *t, unsigned quality)
{
	struct strbuf words = STRBUF_INIT;

	if (!quality)
		return;
	quality__add(&words, quality);
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
	shown = all(t) || cnt <= STACKS_MAX ? cnt : STACKS_MAX;
	for (size_t i = 0; i < shown; i++) {
		put_fold_head(t, block, &folds[i]);
		put_frames(t, block, &folds[i].sample->stack);
	}
	put_rests(t, block, folds, cnt, shown);
	put_quality(t, block->stack_quality);
	free(folds);
}
