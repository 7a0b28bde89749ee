/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handled message: a short phrase in the headline or below it; with -v all known facts. */
#include <inttypes.h>

#include "base/clock.h"
#include "export/shared_words.h"
#include "export/text/text.h"

#define INDENT		  "   "
#define SEPARATOR	  " · "
#define SEPARATOR_COLUMNS 3

bool text__put_message(struct text *t, const struct block *block, unsigned to_col)
{
	struct strbuf phrase = STRBUF_INIT;
	unsigned width;
	bool fits;

	message__add_phrase(&phrase, block->message);
	width = cells__width(strbuf__str(&phrase));
	fits = t->col + SEPARATOR_COLUMNS + width <= to_col;
	if (width && fits) {
		text__put(t, STYLE_NONE, SEPARATOR);
		text__put(t, STYLE_BOLD, strbuf__str(&phrase));
	}
	t->out.failed |= phrase.failed;
	strbuf__free(&phrase);
	return !width || fits;
}

void text__add_phrase(struct text *t, const struct block *block)
{
	struct strbuf phrase = STRBUF_INIT;

	message__add_phrase(&phrase, block->message);
	text__put(t, STYLE_NONE, INDENT "handling ");
	text__put(t, STYLE_BOLD, strbuf__str(&phrase));
	text__nl(t);
	t->out.failed |= phrase.failed;
	strbuf__free(&phrase);
}

void text__put_queued(struct text *t, const struct block *block)
{
	const struct message *message = block->message;
	struct strbuf words = STRBUF_INIT;

	if (!message || !message->was_queued ||
	    (message->queued_ns < NS_PER_MS && t->verbosity <= 0))
		return;
	strbuf__adds(&words, "· queued ");
	clock__add_duration(&words, message->queued_ns);
	strbuf__adds(&words, " before");
	text__wrap(t, STYLE_NONE, INDENT, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_label(struct text *t, const char *label)
{
	text__putf(t, STYLE_NONE, INDENT "%s: ", label);
}

static void put_name(struct text *t, const char *label, const struct message_name *name)
{
	if (!message_name__is_known(name))
		return;
	put_label(t, label);
	if (!name->symbol)
		text__putf(t, STYLE_BOLD, "+0x%" PRIx64, name->offset);
	else
		text__put(t, STYLE_BOLD, name->symbol);
	if (name->module)
		text__putf(t, STYLE_DIM, " (%s)", module__base(name->module));
	text__nl(t);
}

static void put_fd(struct text *t, const char *label, const struct message_fd *fd)
{
	struct strbuf events = STRBUF_INIT;

	if (fd->fd < 0)
		return;
	put_label(t, label);
	text__putf(t, STYLE_NONE, "fd %" PRId32, fd->fd);
	if (fd->target)
		text__putf(t, STYLE_BOLD, " %s", fd->target);
	if (fd->events) {
		message__add_events(&events, fd->events);
		text__putf(t, STYLE_DIM, " (%s)", strbuf__str(&events));
	}
	text__nl(t);
	strbuf__free(&events);
}

static void put_ready(struct text *t, const struct message *message)
{
	unsigned named = message->also_cnt + (message->fd.fd >= 0);

	put_fd(t, message->ready_cnt ? "ready" : "descriptor", &message->fd);
	for (unsigned i = 0; i < message->also_cnt; i++)
		put_fd(t, "ready", &message->also[i]);
	if (message->ready_cnt <= named)
		return;
	put_label(t, "ready");
	text__putf(t, STYLE_NONE, "%" PRIu32 "%s, not known which", message->ready_cnt - named,
		   named ? " more" : "");
	if (message->too_many_fds)
		text__put(t, STYLE_NONE, ": the process has too many descriptors");
	text__nl(t);
}

void text__add_message(struct text *t, const struct block *block)
{
	const struct message *message = block->message;

	if (!message__is_known(message))
		return;
	if (message->what) {
		put_label(t, "message");
		text__put(t, STYLE_BOLD, message->what);
		text__nl(t);
	}
	put_name(t, "handler", &message->handler);
	put_name(t, "callback", &message->callback);
	put_name(t, "source", &message->source);
	put_ready(t, message);
}
