/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of the view. */
#include "export/top/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/report/report.h"
#include "export/top/screen.h"

#define PAGE 10

void view__init(struct view *view, const struct sink_top_opts *opts)
{
	*view = (struct view){ .opts = *opts };
	loops_view__init(&view->loops, opts->interval_ns);
}

void view__free(struct view *view)
{
	loops_view__free(&view->loops);
	strbuf__free(&view->record);
	free(view->loop_key);
	free(view->signature);
}

static void say(struct view *view, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct view *view, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(view->message, sizeof(view->message), fmt, ap);
	va_end(ap);
}

/* --- the selection */

static void select_loop(struct view *view, size_t at)
{
	size_t cnt;
	struct watched_loop **list =
		loops_view__list(&view->loops, view->order, view->filter, &cnt);

	if (list && cnt) {
		free(view->loop_key);
		free(view->signature);
		view->signature = NULL;
		view->loop_key = strdup(list[at < cnt ? at : cnt - 1]->key);
	}
	free(list);
}

/* The selected loop, the first one otherwise; NULL: there is none. */
static struct watched_loop *selected_loop(const struct view *view)
{
	size_t cnt;
	struct watched_loop **list =
		loops_view__list(&view->loops, view->order, view->filter, &cnt);
	struct watched_loop *ret = cnt ? list[0] : NULL;

	for (size_t i = 0; i < cnt; i++)
		if (view->loop_key && !strcmp(list[i]->key, view->loop_key))
			ret = list[i];
	free(list);
	return ret;
}

/* The fault at a place of the selected loop's list; NULL: there is none. */
static struct loop_fault *fault_at(const struct view *view, size_t at)
{
	const struct watched_loop *loop = selected_loop(view);
	struct loop_fault *ret = NULL, **list;
	size_t cnt;

	if (!loop)
		return NULL;
	list = loops_view__faults(&view->loops, loop, &cnt);
	if (cnt)
		ret = list[at < cnt ? at : cnt - 1];
	free(list);
	return ret;
}

static struct loop_fault *selected_fault(const struct view *view)
{
	return fault_at(view, view->in_faults ? view->fault_at : 0);
}

static void select_fault(struct view *view, size_t at)
{
	const struct loop_fault *fault = fault_at(view, at);

	if (!fault)
		return;
	free(view->signature);
	view->signature = strdup(fault->signature);
}

static size_t moved(size_t at, size_t cnt, long by)
{
	if (by < 0)
		return at > (size_t)-by ? at - (size_t)-by : 0;
	return at + (size_t)by < cnt ? at + (size_t)by : cnt ? cnt - 1 : 0;
}

static void move(struct view *view, long by)
{
	if (view->mode != VIEW_LOOPS)
		view->scroll = moved(view->scroll, view->record_lines, by);
	else if (view->in_faults)
		select_fault(view, moved(view->fault_at, view->fault_cnt, by));
	else
		select_loop(view, moved(view->loop_at, view->loop_cnt, by));
}

/* --- what keys do */

static void show_record(struct view *view)
{
	const struct loop_fault *fault = selected_fault(view);

	if (!fault) {
		say(view, "this row has no fault yet");
		return;
	}
	strbuf__reset(&view->record);
	strbuf__add(&view->record, fault->last.data, fault->last.len);
	if (!fault->last.len || view->record.failed) {
		say(view, "its record was not kept: there are too many large ones");
		return;
	}
	view->scroll = 0;
	view->mode = VIEW_RECORD;
}

/* Of the shown record, or of the selected fault's last one. */
static int add_saved(const struct view *view, struct strbuf *ret, char *name, size_t name_sz)
{
	const struct loop_fault *fault = selected_fault(view);
	const struct strbuf *packed = view->mode == VIEW_RECORD ? &view->record
				      : fault			? &fault->last
								: NULL;
	const Jankbpf__Block *block;
	Jankbpf__Record *record;
	int res;

	if (!packed || !packed->len)
		return -ENOENT;
	record = jankbpf__record__unpack(NULL, packed->len, (const uint8_t *)packed->data);
	block = record ? report__block(record) : NULL;
	if (!block) {
		if (record)
			jankbpf__record__free_unpacked(record, NULL);
		return -ENOMEM;
	}
	snprintf(name, name_sz, "jankbpf-%.8s-%u-%llu.jsonl",
		 block->cause && block->cause->signature ? block->cause->signature : "block",
		 block->pid, (unsigned long long)(block->start_ns / NS_PER_MS));
	res = stream__add(ret, RECORD_JSON, record);
	jankbpf__record__free_unpacked(record, NULL);
	return res;
}

static void save(struct view *view)
{
	struct report_file file = { .dirfd = -1, .out.fd = -1 };
	struct strbuf bytes = STRBUF_INIT, path = STRBUF_INIT;
	struct err err = {};
	char name[96];
	int res = add_saved(view, &bytes, name, sizeof(name));

	if (!res) {
		strbuf__addf(&path, "%s/%s", view->opts.dir ?: ".", name);
		res = report_file__open(&file, strbuf__str(&path), &err);
	}
	if (!res) {
		strbuf__add(&file.out.bytes, bytes.data, bytes.len);
		res = report_file__commit(&file, &err);
	}
	if (file.path)
		report_file__close(&file);
	if (res == -ENOENT && !err.msg[0])
		say(view, "there is no record to save");
	else if (res)
		say(view, "not saved: %.120s", err.msg[0] ? err.msg : strerror(-res));
	else
		say(view, "saved: %.140s", strbuf__str(&path));
	strbuf__free(&bytes);
	strbuf__free(&path);
}

static void mute(struct view *view)
{
	const struct loop_fault *fault = selected_fault(view);
	char *signature = fault && *fault->signature ? strdup(fault->signature) : NULL;

	if (!signature)
		say(view, "there is no fault with a signature to mute");
	else if (loops_view__mute(&view->loops, signature))
		say(view, "out of memory");
	else
		say(view, "%.8s is muted; M shows all again", signature);
	free(signature);
}

static void sort(struct view *view, int by)
{
	view->order = (enum loop_order)(((int)view->order + by + LOOP_ORDERS) % LOOP_ORDERS);
}

static void ask(struct view *view, enum view_prompt prompt, const char *text)
{
	view->prompt = prompt;
	snprintf(view->input, sizeof(view->input), "%s", text);
}

/* --- prompts */

static enum view_action set_threshold(struct view *view, uint64_t *ret_ns)
{
	struct err err = {};
	uint64_t ns;

	if (!view->input[0])
		return ACTION_NONE;
	if (view->opts.read_time(view->input, &ns, &err)) {
		say(view, "%.150s", err.msg);
		return ACTION_NONE;
	}
	if (view->opts.hang_ns && ns > view->opts.hang_ns) {
		say(view, "the threshold cannot be longer than --hang");
		return ACTION_NONE;
	}
	*ret_ns = ns;
	return ACTION_THRESHOLD;
}

static enum view_action end_prompt(struct view *view, uint64_t *ret_ns)
{
	enum view_prompt prompt = view->prompt;

	view->prompt = PROMPT_NONE;
	if (prompt == PROMPT_THRESHOLD)
		return set_threshold(view, ret_ns);
	memcpy(view->filter, view->input, sizeof(view->filter));
	return ACTION_NONE;
}

static enum view_action prompt_key(struct view *view, int key, uint64_t *ret_ns)
{
	size_t len = strlen(view->input);

	if (key == SCREEN_ENTER)
		return end_prompt(view, ret_ns);
	if (key == SCREEN_ESCAPE)
		view->prompt = PROMPT_NONE;
	else if (key == SCREEN_BACKSPACE && len)
		view->input[len - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && len + 1 < sizeof(view->input)) {
		view->input[len] = (char)key;
		view->input[len + 1] = '\0';
	}
	return ACTION_NONE;
}

/* --- keys */

static bool move_key(struct view *view, int key)
{
	static const struct {
		int key;
		long by;
	} moves[] = {
		{ SCREEN_UP, -1 },
		{ 'k', -1 },
		{ SCREEN_DOWN, 1 },
		{ 'j', 1 },
		{ SCREEN_PAGE_UP, -PAGE },
		{ SCREEN_PAGE_DOWN, PAGE },
		{ SCREEN_HOME, -(1L << 30) },
		{ SCREEN_END, 1L << 30 },
	};

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		if (moves[i].key != key)
			continue;
		move(view, moves[i].by);
		return true;
	}
	return false;
}

static void list_key(struct view *view, int key)
{
	switch (key) {
	case '\t':
		view->in_faults = !view->in_faults && view->fault_cnt;
		break;
	case SCREEN_ESCAPE:
	case SCREEN_LEFT:
		view->in_faults = false;
		break;
	case SCREEN_ENTER:
		show_record(view);
		break;
	case '/':
		ask(view, PROMPT_FILTER, view->filter);
		break;
	case 't':
		ask(view, PROMPT_THRESHOLD, "");
		break;
	case 's':
	case 'S':
		sort(view, key == 's' ? 1 : -1);
		break;
	case 'm':
		mute(view);
		break;
	case 'M':
		loops_view__mute(&view->loops, NULL);
		break;
	default:
		break;
	}
}

enum view_action view__key(struct view *view, int key, uint64_t *ret_ns)
{
	view->message[0] = '\0';
	if (key == SCREEN_CLOSED)
		return ACTION_END;
	if (view->prompt != PROMPT_NONE)
		return prompt_key(view, key, ret_ns);
	if (move_key(view, key))
		return ACTION_NONE;
	if (key == 'd' && view->mode != VIEW_HELP) {
		save(view);
	} else if (key == '?' || key == 'h') {
		view->mode = VIEW_HELP;
	} else if (view->mode != VIEW_LOOPS) {
		if (key == 'q' || key == SCREEN_ESCAPE || key == SCREEN_ENTER || key == SCREEN_LEFT)
			view->mode = VIEW_LOOPS;
	} else if (key == 'q') {
		return ACTION_END;
	} else {
		list_key(view, key);
	}
	return ACTION_NONE;
}
