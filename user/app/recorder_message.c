/* SPDX-License-Identifier: GPL-2.0 */
/* What a block handled, by name. */
#include "app/recorder_parts.h"

static void add_name(struct jsonw *w, const char *key, const struct message_name *name)
{
	if (!message_name__is_known(name))
		return;
	jsonw__kobject(w, key);
	jsonw__kstr_known(w, "symbol", name->symbol);
	jsonw__kstr_known(w, "module", name->module);
	jsonw__ku64(w, "offset", name->offset);
	jsonw__object_end(w);
}

static void add_fd(struct jsonw *w, const struct message_fd *fd)
{
	jsonw__object(w);
	jsonw__ki64(w, "fd", fd->fd);
	jsonw__ku64(w, "events", fd->events);
	jsonw__kstr_known(w, "target", fd->target);
	jsonw__object_end(w);
}

static void add_message(struct jsonw *w, const struct message *message)
{
	jsonw__kstr_known(w, "what", message->what);
	add_name(w, "handler", &message->handler);
	add_name(w, "callback", &message->callback);
	add_name(w, "source", &message->source);
	jsonw__karray(w, "fds");
	add_fd(w, &message->fd);
	for (unsigned i = 0; i < message->also_cnt; i++)
		add_fd(w, &message->also[i]);
	jsonw__array_end(w);
	jsonw__ku64(w, "ready_cnt", message->ready_cnt);
	jsonw__kbool(w, "too_many_fds", message->too_many_fds);
	if (message->was_queued)
		jsonw__ku64(w, "queued_ns", message->queued_ns);
}

int recorder__message(struct recorder *rec, const struct block *block)
{
	struct jsonw w;

	if (!message__is_known(block->message))
		return 0;
	recorder__begin(rec, block, &w);
	add_message(&w, block->message);
	return recorder__write(rec, JOURNAL_MESSAGE, &w);
}
