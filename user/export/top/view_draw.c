/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pictures of the view. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/top/table.h"
#include "export/top/view.h"

#define COLUMNS_MIN    40 /* of the text of a record */
#define LINES_MIN      8
#define HEAD_LINES     3 /* the head and the titles of columns */
#define FAULT_TITLES   2
#define LOOP_LINES_MIN 3

static const char *const help[] = {
	"A row is a kind of loop in a process, by its last minute; DISP/S by its last second.",
	"",
	"  DISP/S      dispatches that ended",
	"  BLK/MIN     dispatches delayed for longer than the threshold",
	"  STALLED     part of the time that these took",
	"  P50 to MAX  how long dispatches took",
	"  START P99   99 % of the dispatches began at most this long after their wake-up",
	"  OPEN NOW    the longest dispatch that has not ended, and what it does",
	"",
	"Below are the faults of the selected row: blocks with one signature.",
	"",
	"  up, down    select a row; page up and down, home, end",
	"  tab         to the faults and back",
	"  enter       the last record of the fault; of a row, of its first fault",
	"  /           show only rows with this text, or this pid; empty: all",
	"  t           change the threshold, such as to 25ms",
	"  s, S        sort by the next, the previous column",
	"  m, M        mute the selected fault; show all again",
	"  d           save the last record of the selected fault as a file",
	"  q           end",
};

static void put_bottom(struct view *view, struct text *t)
{
	const char *keys = view->mode == VIEW_RECORD ? "↑↓ scroll · d save · q back"
			   : view->mode == VIEW_HELP
				   ? "q back"
				   : "↑↓ select · tab faults · enter record · / filter · "
				     "t threshold · s sort · m mute · d save · ? help · "
				     "q end";

	if (view->prompt == PROMPT_FILTER)
		text__putf(t, STYLE_BOLD, "filter: %s_", view->input);
	else if (view->prompt == PROMPT_THRESHOLD)
		text__putf(t, STYLE_BOLD, "threshold: %s_", view->input);
	else if (view->message[0])
		text__put(t, STYLE_BOLD, view->message);
	else
		text__put(t, STYLE_DIM, keys);
}

static void fill_lines(struct text *t, unsigned lines)
{
	while (t->lines < lines)
		text__nl(t);
}

/* First line of a list to show, so that `at` is visible. */
static size_t first_of(size_t at, size_t cnt, size_t room)
{
	size_t first = at >= room ? at - room + 1 : 0;

	return first + room > cnt && cnt > room ? cnt - room : first;
}

static size_t find_loop(struct watched_loop *const *list, size_t cnt, const char *key)
{
	for (size_t i = 0; key && i < cnt; i++)
		if (!strcmp(list[i]->key, key))
			return i;
	return 0;
}

static size_t find_fault(struct loop_fault *const *list, size_t cnt, const char *signature)
{
	for (size_t i = 0; signature && i < cnt; i++)
		if (!strcmp(list[i]->signature, signature))
			return i;
	return 0;
}

/* --- the lists */

static void put_order(const struct view *view, struct text *t)
{
	text__putf(t, STYLE_DIM, "sorted by %s", loop_order_names[view->order]);
	if (view->filter[0])
		text__putf(t, STYLE_WARN, " · only with '%s'", view->filter);
}

static void put_loops(struct view *view, struct text *t, struct watched_loop *const *list,
		      size_t room)
{
	size_t first = first_of(view->loop_at, view->loop_cnt, room);

	table__put_columns(t, STYLE_REVERSE, true);
	for (size_t i = first; i < view->loop_cnt && i < first + room; i++) {
		bool selected = i == view->loop_at && !view->in_faults;

		table__put_loop(t, selected ? STYLE_REVERSE : STYLE_NONE, &view->loops, list[i],
				true);
	}
}

static void put_faults(struct view *view, struct text *t, const struct watched_loop *loop,
		       size_t room)
{
	struct loop_fault **list = loops_view__faults(&view->loops, loop, &view->fault_cnt);
	size_t first;

	view->fault_at = find_fault(list, view->fault_cnt, view->signature);
	first = first_of(view->fault_at, view->fault_cnt, room);
	text__putf(t, STYLE_BOLD, "Faults of %s (%u), %s", loop->process ?: "?", loop->pid,
		   loop->loop);
	if (!view->fault_cnt)
		text__put(t, STYLE_DIM, loop->muted_cnt ? ": all are muted" : ": none");
	if (loop->muted_cnt)
		text__putf(t, STYLE_WARN, " · %s blocks muted", text__grouped(loop->muted_cnt).str);
	text__nl(t);
	for (size_t i = first; i < view->fault_cnt && i < first + room; i++) {
		bool selected = i == view->fault_at && view->in_faults;

		table__put_fault(t, selected ? STYLE_REVERSE : STYLE_NONE, &view->loops, list[i],
				 true);
	}
	free(list);
}

static int draw_loops(struct view *view, struct text *t, unsigned lines)
{
	struct watched_loop **list =
		loops_view__list(&view->loops, view->order, view->filter, &view->loop_cnt);
	unsigned left =
		lines > HEAD_LINES + FAULT_TITLES + 1 ? lines - HEAD_LINES - FAULT_TITLES - 1 : 0;
	unsigned room = left / 2 > LOOP_LINES_MIN ? left / 2 : LOOP_LINES_MIN;

	if (!list)
		return -ENOMEM;
	if (view->loop_cnt < room)
		room = (unsigned)view->loop_cnt;
	view->loop_at = find_loop(list, view->loop_cnt, view->loop_key);
	table__put_head(t, &view->loops);
	put_loops(view, t, list, room);
	put_order(view, t);
	text__nl(t);
	view->fault_cnt = 0;
	if (view->loop_cnt && lines > t->lines + 2)
		put_faults(view, t, list[view->loop_at], lines - t->lines - 2);
	free(list);
	return 0;
}

/* --- a record, the help */

/* Leaves the lines from `first` on, at most `room`. */
static void cut_lines(struct text *t, size_t first, size_t room)
{
	const char *at = t->out.data, *end = at + t->out.len, *from = at;
	size_t line = 0;

	for (; at < end && line < first + room; at++) {
		if (*at != '\n')
			continue;
		line++;
		if (line == first)
			from = at + 1;
	}
	if (!t->out.data)
		return;
	t->out.len = (size_t)(at - from);
	memmove(t->out.data, from, t->out.len);
	t->lines = line > first ? (unsigned)(line - first) : 0;
}

static int draw_record(struct view *view, struct text *t, unsigned room)
{
	Jankbpf__Record *record =
		jankbpf__record__unpack(NULL, view->record.len, (const uint8_t *)view->record.data);

	if (!record)
		return -ENOMEM;
	if (record->type_case == JANKBPF__RECORD__TYPE_BLOCK)
		record->block->has_occurrence = record->block->occurrence = 0; /* in full */
	text__add_record(t, record);
	jankbpf__record__free_unpacked(record, NULL);
	view->record_lines = t->lines;
	if (view->scroll + room > view->record_lines)
		view->scroll = view->record_lines > room ? view->record_lines - room : 0;
	cut_lines(t, view->scroll, room);
	return 0;
}

int view__draw(struct view *view, struct text *t, unsigned lines)
{
	int res = 0;

	text__begin(t);
	if (t->width < COLUMNS_MIN || lines < LINES_MIN) {
		text__put(t, STYLE_WARN, "the window is too small");
		return t->out.failed ? -ENOMEM : 0;
	}
	if (view->mode == VIEW_LOOPS)
		res = draw_loops(view, t, lines);
	else if (view->mode == VIEW_RECORD)
		res = draw_record(view, t, lines > 1 ? lines - 1 : 1);
	for (size_t i = 0; view->mode == VIEW_HELP && i < sizeof(help) / sizeof(*help); i++) {
		text__put(t, STYLE_NONE, help[i]);
		text__nl(t);
	}
	if (t->lines >= lines)
		cut_lines(t, 0, lines - 1);
	fill_lines(t, lines - 1);
	put_bottom(view, t);
	if (t->opts.ascii)
		text__to_ascii(&t->out);
	return res ?: t->out.failed ? -ENOMEM : 0;
}
