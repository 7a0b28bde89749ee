/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stack's frames, one per line. Kernel frames share one dim line, the culprit is marked, repeated
 * frames (recursion) are counted; -v shows everything. Also: the innermost frames in one line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "export/text/text.h"
#include "export/values.h"

#define HEAD_MAX       4
#define BLAMED_LINES   3 /* a note, the blamed frame, its caller */
#define FOLDED_MIN     3 /* callers that a stack shares with the one above */
#define FRAME_INDENT   "          "
#define BLAMED_INDENT  "        ▸ "
#define MODULE_COLUMNS 32

bool frame__same(const Jankbpf__Frame *a, const Jankbpf__Frame *b)
{
	if (a->kernel != b->kernel || !text__same(a->module, b->module))
		return false;
	if (a->function || b->function)
		return text__same(a->function, b->function);
	return a->module ? a->offset == b->offset : a->address == b->address;
}

/* "luaV_execute", or the full name with -v; "+0x1234" or "0x7f…" without a name. */
static void frame__add_name(struct strbuf *sb, const struct text *t, const Jankbpf__Frame *frame)
{
	if (frame->function && !*frame->function)
		strbuf__addc(sb, '?');
	else if (frame->function && text__shows_all(t))
		strbuf__addf(sb, "%s+0x%" PRIx64, frame->function, frame->offset);
	else if (frame->function)
		function__add_short(sb, frame->function, "<…>", false);
	else if (frame->module)
		strbuf__addf(sb, "+0x%" PRIx64, frame->offset);
	else
		strbuf__addf(sb, "0x%" PRIx64, frame->address);
}

/* Adds the place, dim: "server.c:812  redis-server". The module is not repeated on each line. */
static void put_place(struct text *t, const Jankbpf__Frame *frame, const Jankbpf__Frame *before)
{
	if (frame->inlined)
		text__put(t, STYLE_DIM, " inlined");
	if (frame->file) {
		text__putf(t, STYLE_DIM, "  %s", module__base(frame->file));
		if (frame->line)
			text__putf(t, STYLE_DIM, ":%" PRIu32, frame->line);
	}
	if (frame->language)
		text__putf(t, STYLE_DIM, "  %s", frame->language);
	if (frame->file && frame->module && !strcmp(frame->file, frame->module))
		return;
	if (!text__shows_all(t) && frame->function && before && before->module && frame->module &&
	    !strcmp(frame->module, before->module))
		return;
	if (frame->module)
		text__putf(t, STYLE_DIM, "  %s", module__base(frame->module));
	else if (frame->kernel)
		text__put(t, STYLE_DIM, "  kernel");
}

static void put_frame(struct text *t, const Jankbpf__Block *block, const Jankbpf__Frame *frame,
		      const Jankbpf__Frame *before, size_t times)
{
	const Jankbpf__Frame *blamed = block->cause ? block->cause->frame : NULL;
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

/* Number of consecutive frames equal to the one at i. */
static size_t run_len(const struct frames *stack, size_t i)
{
	size_t len = 1;

	while (i + len < stack->cnt && frame__same(stack->list[i], stack->list[i + len]))
		len++;
	return len;
}

static void put_note(struct text *t, const char *note)
{
	text__put(t, STYLE_NONE, FRAME_INDENT);
	text__put(t, STYLE_DIM, note);
	text__nl(t);
}

static bool is_scheduler(const Jankbpf__Frame *frame)
{
	return frame->function &&
	       (!strcmp(frame->function, "__schedule") || !strcmp(frame->function, "schedule"));
}

/*
 * Puts the kernel's part in one line, leaf first. Leaves out the scheduler: it is expected for a
 * span off the CPU. Returns the number of frames.
 */
static size_t put_kernel_part(struct text *t, const struct frames *stack)
{
	struct strbuf line = STRBUF_INIT;
	size_t i;

	for (i = 0; i < stack->cnt && stack->list[i]->kernel; i++) {
		if (!line.len && is_scheduler(stack->list[i]) && i + 1 < stack->cnt &&
		    stack->list[i + 1]->kernel)
			continue;
		strbuf__adds(&line, line.len ? " ← " : "kernel: ");
		frame__add_name(&line, t, stack->list[i]);
	}
	if (i)
		put_note(t, strbuf__str(&line));
	strbuf__free(&line);
	return i;
}

/* Number of outermost frames that two stacks have in common. */
static size_t common_callers(const struct frames *a, const struct frames *b)
{
	size_t cnt = 0;

	while (cnt < a->cnt && cnt < b->cnt &&
	       frame__same(a->list[a->cnt - 1 - cnt], b->list[b->cnt - 1 - cnt]))
		cnt++;
	return cnt;
}

/* Frames to show: all but the callers that are above already, if that is worth a note. */
static size_t frames_below(const struct text *t, const struct frames *stack,
			   const struct frames *above)
{
	size_t common = above && !text__shows_all(t) ? common_callers(stack, above) : 0;

	return common >= FOLDED_MIN && common < stack->cnt ? stack->cnt - common : stack->cnt;
}

/*
 * With BLAMED_LINES left: the number of frames to leave out, with a note, so that the blamed one is
 * shown. 0: it is above, comes anyway, or is in no frame.
 */
static size_t to_blamed(const Jankbpf__Block *block, const struct frames *stack, size_t at,
			size_t cnt, size_t left)
{
	const Jankbpf__Frame *blamed = block->cause ? block->cause->frame : NULL;

	for (size_t i = 0; blamed && i < at; i++)
		if (frame__same(blamed, stack->list[i]))
			return 0;
	for (size_t i = at + left; blamed && i < cnt; i++)
		if (frame__same(blamed, stack->list[i]))
			return i - at;
	return 0;
}

void text__add_frames(struct text *t, const Jankbpf__Block *block, const struct frames *stack,
		      const struct frames *above, size_t max)
{
	size_t cnt = frames_below(t, stack, above), shown = 0, i = 0, len;
	const Jankbpf__Frame *before = NULL;
	char more[64];

	if (!text__shows_all(t))
		i = put_kernel_part(t, stack);
	for (; i < cnt && shown < max; i += len, shown++) {
		size_t left = max - shown, skipped = 0;

		if (left == (max < BLAMED_LINES ? max : BLAMED_LINES))
			skipped = to_blamed(block, stack, i, cnt, left);
		if (skipped) {
			snprintf(more, sizeof(more), "… %zu more", skipped);
			put_note(t, more);
			i += skipped;
			shown++;
			before = NULL;
		}
		len = text__shows_all(t) ? 1 : run_len(stack, i);
		put_frame(t, block, stack->list[i], before, len);
		before = stack->list[i];
	}
	snprintf(more, sizeof(more), "… %zu more%s", stack->cnt - i,
		 i >= cnt && cnt < stack->cnt ? ", as above" : "");
	if (i < stack->cnt)
		put_note(t, more);
	else if (!stack->cnt)
		put_note(t, "no frames");
}

/* Index of the first frame in user space; 0: none. */
static size_t user_begin(const struct frames *stack)
{
	size_t i = 0;

	while (i < stack->cnt && stack->list[i]->kernel)
		i++;
	return i < stack->cnt ? i : 0;
}

/* An address alone tells a person nothing; -v and the record have it. */
static bool is_named(const Jankbpf__Frame *frame)
{
	return (frame->function && *frame->function) || (frame->module && *frame->module);
}

void text__add_head_frames(struct strbuf *sb, const struct text *t, const struct frames *stack)
{
	size_t i = user_begin(stack), shown = 0;

	for (; i < stack->cnt && shown < HEAD_MAX; i++) {
		const Jankbpf__Frame *frame = stack->list[i];

		if ((frame->kernel && is_scheduler(frame)) || !is_named(frame))
			continue;
		strbuf__adds(sb, shown++ ? " ← " : "");
		frame__add_name(sb, t, frame);
	}
	if (i < stack->cnt)
		strbuf__adds(sb, " ← …");
}
