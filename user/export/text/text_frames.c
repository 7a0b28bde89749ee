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

#define FRAMES_MAX     10
#define HEAD_MAX       4
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

bool text__shows_all(const struct text *t)
{
	return t->verbosity > 0;
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

void text__add_frames(struct text *t, const Jankbpf__Block *block, const struct frames *stack)
{
	size_t cnt = stack->cnt, shown = 0, i = 0, len;
	const Jankbpf__Frame *before = NULL;
	char more[48];

	if (!text__shows_all(t))
		i = put_kernel_part(t, stack);
	for (; i < cnt && (text__shows_all(t) || shown < FRAMES_MAX); i += len, shown++) {
		len = text__shows_all(t) ? 1 : run_len(stack, i);
		put_frame(t, block, stack->list[i], before, len);
		before = stack->list[i];
	}
	snprintf(more, sizeof(more), "… %zu more", cnt - i);
	if (i < cnt)
		put_note(t, more);
	else if (!cnt)
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

void text__add_head_frames(struct strbuf *sb, const struct text *t, const struct frames *stack)
{
	size_t i = user_begin(stack), shown = 0;

	for (; i < stack->cnt && shown < HEAD_MAX; i++) {
		const Jankbpf__Frame *frame = stack->list[i];

		if (frame->kernel && is_scheduler(frame))
			continue;
		strbuf__adds(sb, shown++ ? " ← " : "");
		frame__add_name(sb, t, frame);
	}
	if (i < stack->cnt)
		strbuf__adds(sb, " ← …");
}
