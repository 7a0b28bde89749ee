/* SPDX-License-Identifier: GPL-2.0 */
/* Copies: a block owns its message, the journal's tree lives on. */
#include "app/recorded_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int copy_text(char **ret, const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (!text || *ret)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int copy_name(struct message_name *ret, const json_t *json, const char *key)
{
	const json_t *name = json_object_get(json, key);

	ret->offset = json_integer_value(json_object_get(name, "offset"));
	if (copy_text(&ret->symbol, name, "symbol") || copy_text(&ret->module, name, "module"))
		return -ENOMEM;
	return 0;
}

/* A number of any size is none of a descriptor. */
static int copy_fd(struct message_fd *ret, const json_t *json)
{
	const json_t *fd = json_object_get(json, "fd");
	json_int_t nr = json_is_integer(fd) ? json_integer_value(fd) : -1;

	ret->fd = nr >= 0 && nr <= INT32_MAX ? (int32_t)nr : -1;
	ret->events = json_integer_value(json_object_get(json, "events"));
	return copy_text(&ret->target, json, "target");
}

static int copy_fds(struct message *message, const json_t *list)
{
	size_t cnt = json_array_size(list);
	int res = copy_fd(&message->fd, json_array_get(list, 0));

	for (size_t i = 1; i < cnt && i < JANK_READY_MAX && !res; i++)
		res = copy_fd(&message->also[message->also_cnt++], json_array_get(list, i));
	return res;
}

int recorded_message__fill(struct message *message, const json_t *json)
{
	const json_t *queued = json_object_get(json, "queued_ns");

	if (message->also_cnt) /* filled before */
		return 0;
	message->ready_cnt = json_integer_value(json_object_get(json, "ready_cnt"));
	message->too_many_fds = json_is_true(json_object_get(json, "too_many_fds"));
	message->was_queued = json_is_integer(queued) && json_integer_value(queued) >= 0;
	message->queued_ns = message->was_queued ? json_integer_value(queued) : 0;
	if (copy_text(&message->what, json, "what") ||
	    copy_name(&message->handler, json, "handler") ||
	    copy_name(&message->callback, json, "callback") ||
	    copy_name(&message->source, json, "source"))
		return -ENOMEM;
	return copy_fds(message, json_object_get(json, "fds"));
}
