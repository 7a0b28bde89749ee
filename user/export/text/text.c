/* SPDX-License-Identifier: GPL-2.0 */
/* The text sink: a block as a person wants it on a terminal. Its parts are in text_*.c. */
#include "export/text/text.h"

#include <errno.h>
#include <stdlib.h>

#include "export/output.h"

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     40
#define WIDTH_MAX     400

static int text__write(struct text *t)
{
	int err = t->out.failed ? -ENOMEM : output__write(t->fd, t->out.data, t->out.len);

	strbuf__reset(&t->out);
	t->col = 0;
	return err;
}

/* With -q a block is its headline. */
static int text__block(struct sink *sink, const struct block *block)
{
	struct text *t = (struct text *)sink;

	text__add_headline(t, block);
	if (t->verbosity > 0)
		text__add_who(t, block);
	if (t->verbosity >= 0) {
		if (t->verbosity > 0)
			text__add_message(t, block);
		text__add_bar(t, block);
		text__add_machine(t, block);
		text__add_facts(t, block);
		text__add_chain(t, block);
		text__add_stacks(t, block);
		text__add_lost(t, block->lost, block->lost_cnt);
		text__nl(t);
	}
	return text__write(t);
}

static int text__summary(struct sink *sink, const struct summary *summary)
{
	struct text *t = (struct text *)sink;

	text__add_summary(t, summary);
	return text__write(t);
}

static void text__free(struct sink *sink)
{
	struct text *t = (struct text *)sink;

	strbuf__free(&t->out);
	free(t);
}

static const struct sink_ops text_ops = {
	.name = "text",
	.block = text__block,
	.summary = text__summary,
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

struct sink *sink_text__new(int fd, bool color, unsigned width, int verbosity)
{
	struct text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sink.ops = &text_ops;
	t->fd = fd;
	t->color = color;
	t->width = clamp_width(width);
	t->verbosity = verbosity;
	return &t->sink;
}
