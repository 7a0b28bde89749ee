/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a message's description. Whoever names it fills the fields. */
#include "model/message.h"

#include <stdlib.h>
#include <string.h>

struct message *message__new(const struct jank_rec_message *raw)
{
	struct message *ret = calloc(1, sizeof(*ret));

	if (!ret)
		return NULL;
	ret->raw = *raw;
	ret->fd.fd = -1;
	return ret;
}

static void free_name(struct message_name *name)
{
	free(name->symbol);
	free(name->module);
}

void message__free(struct message *message)
{
	if (!message)
		return;
	free(message->what);
	free_name(&message->handler);
	free_name(&message->callback);
	free_name(&message->source);
	free(message->fd.target);
	for (unsigned i = 0; i < message->also_cnt; i++)
		free(message->also[i].target);
	free(message);
}

static size_t length(const char *str)
{
	return str ? strlen(str) : 0;
}

static size_t name_length(const struct message_name *name)
{
	return length(name->symbol) + length(name->module);
}

size_t message__bytes(const struct message *message)
{
	size_t sum;

	if (!message)
		return 0;
	sum = sizeof(*message) + length(message->what) + name_length(&message->handler) +
	      name_length(&message->callback) + name_length(&message->source) +
	      length(message->fd.target);
	for (unsigned i = 0; i < message->also_cnt; i++)
		sum += length(message->also[i].target);
	return sum;
}

bool message_name__is_known(const struct message_name *name)
{
	return name->symbol || name->module;
}

bool message__is_known(const struct message *message)
{
	return message && (message->what || message_name__is_known(&message->handler) ||
			   message_name__is_known(&message->callback) ||
			   message_name__is_known(&message->source) || message->fd.fd >= 0 ||
			   message->fd.target || message->ready_cnt || message->was_queued);
}
