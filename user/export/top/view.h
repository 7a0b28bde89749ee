/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the user of `jankbpf top` sees and presses: the list of loops with the faults of the
 * selected one, a record, the help. Draws into a text; knows no terminal. One thread at a time.
 */
#ifndef JANK_EXPORT_TOP_VIEW_H
#define JANK_EXPORT_TOP_VIEW_H

#include "export/sink.h"
#include "export/text/text.h"
#include "export/top/loops.h"

#define VIEW_INPUT_MAX 64

enum view_mode { VIEW_LOOPS, VIEW_RECORD, VIEW_HELP };
enum view_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_THRESHOLD };

struct view {
	struct loops_view loops;
	struct sink_top_opts opts;
	enum view_mode mode;
	enum view_prompt prompt;
	enum loop_order order;
	bool in_faults; /* keys move in the list of faults */
	char filter[VIEW_INPUT_MAX], input[VIEW_INPUT_MAX];
	char *loop_key, *signature; /* the selected ones; NULL: the first */
	size_t loop_at, fault_at;   /* their places in the lists, as drawn last */
	size_t loop_cnt, fault_cnt;
	struct strbuf record; /* the shown one, packed */
	size_t scroll, record_lines;
	char message[160]; /* at the bottom, until the next key */
};

enum view_action { ACTION_NONE, ACTION_END, ACTION_THRESHOLD };

void view__init(struct view *view, const struct sink_top_opts *opts);
void view__free(struct view *view);

/* Fills t with `lines` lines. 0 or -ENOMEM. */
int view__draw(struct view *view, struct text *t, unsigned lines);

/* A key of screen.h. ACTION_THRESHOLD: *ret_ns is the new threshold. */
enum view_action view__key(struct view *view, int key, uint64_t *ret_ns);

#endif
