/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handled message: a short phrase in the headline or below it; with -v all known facts. */
#include <inttypes.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/text/text.h"
#include "export/values.h"

#define INDENT		  "   "
#define SEPARATOR	  " · "
#define SEPARATOR_COLUMNS 3

bool text__put_message(struct text *t, const Jankbpf__Block *block, unsigned to_col)
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

void text__add_phrase(struct text *t, const Jankbpf__Block *block)
{
	struct strbuf phrase = STRBUF_INIT;

	message__add_phrase(&phrase, block->message);
	text__put(t, STYLE_NONE, INDENT "handling ");
	text__put(t, STYLE_BOLD, strbuf__str(&phrase));
	text__nl(t);
	t->out.failed |= phrase.failed;
	strbuf__free(&phrase);
}

void text__put_queued(struct text *t, const Jankbpf__Block *block)
{
	const Jankbpf__Message *message = block->message;
	struct strbuf words = STRBUF_INIT;

	if (!message || !message->has_queued_ns ||
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

static void put_name(struct text *t, const char *label, const Jankbpf__Symbol *symbol)
{
	struct strbuf name = STRBUF_INIT;

	if (!symbol)
		return;
	put_label(t, label);
	symbol__add(&name, symbol);
	text__put(t, STYLE_BOLD, strbuf__str(&name));
	if (symbol->module)
		text__putf(t, STYLE_DIM, " (%s)", module__base(symbol->module));
	text__nl(t);
	t->out.failed |= name.failed;
	strbuf__free(&name);
}

static void put_fd(struct text *t, const char *label, int32_t fd, const char *target,
		   const char *events)
{
	put_label(t, label);
	text__putf(t, STYLE_NONE, "fd %" PRId32, fd);
	if (target)
		text__putf(t, STYLE_BOLD, " %s", target);
	if (events)
		text__putf(t, STYLE_DIM, " (%s)", events);
	text__nl(t);
}

static void put_ready(struct text *t, const Jankbpf__Message *message)
{
	size_t named = message->n_also_ready + message->has_fd;

	if (message->has_fd)
		put_fd(t, message->ready ? "ready" : "descriptor", message->fd, message->fd_target,
		       message->events);
	for (size_t i = 0; i < message->n_also_ready; i++) {
		const Jankbpf__ReadyFd *also = message->also_ready[i];

		if (also->has_fd)
			put_fd(t, "ready", also->fd, also->fd_target, also->events);
	}
	if (message->ready <= named)
		return;
	put_label(t, "ready");
	text__putf(t, STYLE_NONE, "%zu%s, not known which", message->ready - named,
		   named ? " more" : "");
	if (message->too_many_fds)
		text__put(t, STYLE_NONE, ": the process has too many descriptors");
	text__nl(t);
}

void text__add_message(struct text *t, const Jankbpf__Block *block)
{
	const Jankbpf__Message *message = block->message;

	if (!message)
		return;
	if (message->what) {
		put_label(t, "message");
		text__put(t, STYLE_BOLD, message->what);
		text__nl(t);
	}
	put_name(t, "handler", message->handler);
	put_name(t, "callback", message->callback);
	put_name(t, "source", message->source);
	put_ready(t, message);
}
