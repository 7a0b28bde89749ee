/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What was handled, in BlockCanary's log: its format has no key for it, though its monitor lives on this
 * very line of Looper's: ">>>>> Dispatching to HANDLER CALLBACK: WHAT". Written so where the loop's
 * messages have handlers, the parts behind keys of our own.
 */
#include <inttypes.h>
#include <string.h>

#include "export/blockcanary/blockcanary.h"
#include "export/message.h"

#define DISPATCHING ">>>>> Dispatching to "

static void add_name(struct strbuf *sb, const struct message_name *name, const char *absent)
{
	if (message_name__is_known(name))
		message_name__add(sb, name, false);
	else
		strbuf__adds(sb, absent);
}

/* Android writes "null" for what isn't there. */
static void add_line(struct strbuf *line, const struct message *message)
{
	if (!message_name__is_known(&message->handler)) {
		message__add_phrase(line, message);
		return;
	}
	strbuf__adds(line, DISPATCHING);
	add_name(line, &message->handler, "");
	strbuf__addc(line, ' ');
	add_name(line, &message->callback, "null");
	if (message->what)
		strbuf__addf(line, ": %s", message->what);
}

static void add_name_key(struct strbuf *sb, const char *key, const struct message_name *name)
{
	struct strbuf text = STRBUF_INIT;

	if (!message_name__is_known(name))
		return;
	if (name->symbol)
		strbuf__adds(&text, name->symbol);
	else
		strbuf__addf(&text, "+0x%" PRIx64, name->offset);
	if (name->module)
		strbuf__addf(&text, " (%s)", name->module);
	blockcanary__add_str(sb, key, strbuf__str(&text));
	strbuf__free(&text);
}

static void add_fds(struct strbuf *sb, const struct message *message)
{
	if (message->fd.fd >= 0)
		blockcanary__add_u64(sb, "x-message-fd", message->fd.fd);
	if (message->fd.target)
		blockcanary__add_str(sb, "x-message-fd-target", message->fd.target);
	if (message->ready_cnt)
		blockcanary__add_u64(sb, "x-message-ready", message->ready_cnt);
}

void blockcanary__add_message(struct strbuf *sb, const struct message *message)
{
	struct strbuf line = STRBUF_INIT;

	if (!message__is_known(message))
		return;
	add_line(&line, message);
	if (line.len)
		blockcanary__add_str(sb, "x-message", strbuf__str(&line));
	sb->failed |= line.failed;
	strbuf__free(&line);
	if (message->what)
		blockcanary__add_str(sb, "x-message-what", message->what);
	add_name_key(sb, "x-message-handler", &message->handler);
	add_name_key(sb, "x-message-callback", &message->callback);
	add_name_key(sb, "x-message-source", &message->source);
	add_fds(sb, message);
	if (message->was_queued)
		blockcanary__add_u64(sb, "x-message-queued-ns", message->queued_ns);
}
