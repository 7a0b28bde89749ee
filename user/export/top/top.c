/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sink of `jankbpf top`: tables in text, or a screen that is drawn at each interval and key. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/sink.h"
#include "export/top/screen.h"
#include "export/top/table.h"
#include "export/top/view.h"

#define BATCH_WIDTH 400 /* where stdout is no terminal */

struct sink_top {
	struct sink sink;
	int fd;
	bool screen;
	bool ended; /* the user ended it */
	struct text text;
	struct view view;
	uint64_t printed_cnt;
};

/* --- tables in text */

static void put_tables(struct sink_top *top)
{
	struct text *t = &top->text;
	size_t loop_cnt, fault_cnt, max = t->opts.top ?: SIZE_MAX;
	struct watched_loop **loops =
		loops_view__list(&top->view.loops, BY_STALLED, NULL, &loop_cnt);
	struct loop_fault **faults = loops_view__faults(&top->view.loops, NULL, &fault_cnt);

	table__put_head(t, &top->view.loops);
	table__put_columns(t, STYLE_BOLD, false);
	for (size_t i = 0; i < loop_cnt; i++)
		table__put_loop(t, STYLE_NONE, &top->view.loops, loops[i], false);
	if (fault_cnt) {
		text__nl(t);
		table__put_fault_columns(t, STYLE_BOLD, true);
	}
	for (size_t i = 0; i < fault_cnt && i < max; i++)
		table__put_fault(t, STYLE_NONE, &top->view.loops, faults[i], false);
	text__nl(t);
	free(loops);
	free(faults);
}

static int print(struct sink_top *top)
{
	struct text *t = &top->text;
	int res;

	text__begin(t);
	put_tables(top);
	if (t->opts.ascii)
		text__to_ascii(&t->out);
	res = t->out.failed
		      ? -ENOMEM
		      : sink_progress__write(top->sink.progress, top->fd, t->out.data, t->out.len);
	if (!res && ++top->printed_cnt == top->view.opts.count)
		return -EPIPE; /* it ends the run */
	return res;
}

/* --- the screen */

static int draw(struct sink_top *top)
{
	unsigned columns, lines;
	int res;

	screen__size(&columns, &lines);
	top->text.width = columns;
	res = view__draw(&top->view, &top->text, lines);
	if (!top->text.out.failed && top->text.out.len)
		screen__draw(strbuf__str(&top->text.out));
	return res;
}

static int send_command(struct sink_top *top, enum top_command_kind kind, uint64_t threshold_ns)
{
	const struct top_command command = { kind, threshold_ns };

	return output__write(top->view.opts.control_fd, &command, sizeof(command));
}

static int on_key(struct sink_top *top, int key)
{
	uint64_t ns = 0;
	enum view_action action = view__key(&top->view, key, &ns);

	if (action == ACTION_THRESHOLD)
		return send_command(top, TOP_THRESHOLD, ns);
	if (action == ACTION_NONE)
		return 0;
	top->ended = true;
	screen__close();
	return send_command(top, TOP_END, 0);
}

static int on_keys(struct sink_top *top)
{
	bool any = false;
	int key, res = 0;

	for (; !res && !top->ended && (key = screen__key()) != SCREEN_NONE; any = true)
		res = on_key(top, key);
	return res || !any || top->ended ? res : draw(top);
}

/* A signal of the terminal's new size interrupts the wait. */
static int top__wait(struct sink *sink, int fd)
{
	struct sink_top *top = (struct sink_top *)sink;
	int res = 0;

	while (!res && top->screen) {
		struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
					{ .fd = top->ended ? -1 : top->view.opts.keys_fd,
					  .events = POLLIN } };

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		res = top->ended ? 0 : on_keys(top);
		if (fds[0].revents)
			break;
	}
	return res;
}

/* --- records */

/* After the screen: what the run found. */
static int print_summary(struct sink_top *top, const Jankbpf__Record *record)
{
	struct sink_text_opts opts = top->text.opts;
	struct sink *sink;
	int res;

	screen__close();
	top->ended = true;
	sink = sink_text__new(top->fd, &opts);
	if (!sink)
		return -ENOMEM;
	res = sink->ops->record(sink, record);
	sink->ops->free(sink);
	return res;
}

static int top__record(struct sink *sink, const Jankbpf__Record *record)
{
	struct sink_top *top = (struct sink_top *)sink;
	bool is_interval = record->type_case == JANKBPF__RECORD__TYPE_INTERVAL;
	int res;

	if (top->screen && record->type_case == JANKBPF__RECORD__TYPE_SUMMARY)
		return print_summary(top, record);
	res = loops_view__add(&top->view.loops, record);
	if (!is_interval || top->ended)
		return res;
	return (top->screen ? draw(top) : print(top)) ?: res;
}

static void top__free(struct sink *sink)
{
	struct sink_top *top = (struct sink_top *)sink;

	if (top->screen)
		screen__close();
	view__free(&top->view);
	strbuf__free(&top->text.out);
	free(top);
}

static const struct sink_ops top_ops = {
	.name = "top",
	.record = top__record,
	.wait = top__wait,
	.free = top__free,
};

int sink_top__new(int fd, const struct sink_top_opts *opts, struct sink **ret, struct err *err)
{
	struct sink_top *top = calloc(1, sizeof(*top));
	int res;

	if (!top)
		return err__set(err, ENOMEM, "out of memory");
	top->sink.ops = &top_ops;
	top->fd = fd;
	top->screen = opts->keys_fd >= 0;
	view__init(&top->view, opts);
	text__init(&top->text, fd, &opts->text);
	if (!top->screen && !opts->text.width)
		top->text.width = BATCH_WIDTH;
	res = top->screen ? screen__open(fd, opts->keys_fd, err) : 0;
	if (res) {
		top->screen = false;
		top__free(&top->sink);
		return res;
	}
	if (top->screen)
		draw(top);
	*ret = &top->sink;
	return 0;
}
