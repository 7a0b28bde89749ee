/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text sink: records in readable form on a terminal. Their parts are in text_*.c.
 */
#include "export/text/text.h"

#include <errno.h>
#include <stdlib.h>

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     40
#define WIDTH_MAX     400

void text__begin(struct text *t)
{
	strbuf__reset(&t->out);
	t->col = 0;
	t->lines = 0;
}

static int text__write(struct text *t)
{
	int err;

	if (t->opts.ascii)
		text__to_ascii(&t->out);
	err = t->out.failed
		      ? -ENOMEM
		      : sink_progress__write(t->sink.progress, t->fd, t->out.data, t->out.len);
	text__begin(t);
	return err;
}

/* The second and later blocks of a fault are a line, except with --each and -v. */
static bool is_repeated(const struct text *t, const Jankbpf__Block *block)
{
	return block->occurrence > 1 && block->cause && block->cause->signature && !t->opts.each &&
	       t->verbosity <= 0;
}

/* With -q, a block is only its headline. */
static void add_block(struct text *t, const Jankbpf__Block *block, bool open)
{
	if (!open && is_repeated(t, block)) {
		text__add_repeated(t, block);
		return;
	}
	text__add_headline(t, block, open);
	if (t->verbosity > 0)
		text__add_who(t, block);
	if (t->verbosity < 0)
		return;
	if (t->verbosity > 0)
		text__add_message(t, block);
	text__add_bar(t, block);
	text__add_machine(t, block);
	text__add_facts(t, block);
	text__add_chain(t, block);
	text__add_stacks(t, block);
	text__add_lost(t, block->lost);
	text__nl(t);
}

void text__add_record(struct text *t, const Jankbpf__Record *record)
{
	switch (record->type_case) {
	case JANKBPF__RECORD__TYPE_BLOCK:
		add_block(t, record->block, false);
		break;
	case JANKBPF__RECORD__TYPE_HANG:
		add_block(t, record->hang, true);
		break;
	case JANKBPF__RECORD__TYPE_SUMMARY:
		text__add_summary(t, record->summary);
		break;
	case JANKBPF__RECORD__TYPE_INTERVAL:
		text__add_interval(t, record->interval);
		break;
	default: /* of a later version */
		break;
	}
}

static int text__record(struct sink *sink, const Jankbpf__Record *record)
{
	struct text *t = (struct text *)sink;

	text__add_record(t, record);
	return t->out.len ? text__write(t) : 0;
}

static void text__free(struct sink *sink)
{
	struct text *t = (struct text *)sink;

	strbuf__free(&t->out);
	free(t);
}

static const struct sink_ops text_ops = {
	.name = "text",
	.record = text__record,
	.free = text__free,
};

static unsigned clamp_width(unsigned width)
{
	if (!width)
		return WIDTH_DEFAULT;
	if (width < WIDTH_MIN)
		return WIDTH_MIN;
	return width < WIDTH_MAX ? width : WIDTH_MAX;
}

void text__init(struct text *t, int fd, const struct sink_text_opts *opts)
{
	*t = (struct text){
		.sink.ops = &text_ops,
		.fd = fd,
		.opts = *opts,
		.color = opts->color,
		.width = clamp_width(opts->width),
		.verbosity = opts->verbosity,
	};
}

struct sink *sink_text__new(int fd, const struct sink_text_opts *opts)
{
	struct text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	text__init(t, fd, opts);
	return &t->sink;
}
