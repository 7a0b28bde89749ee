/* SPDX-License-Identifier: GPL-2.0 */
/* Words for a message: to whom, what, whose function, from where. */
#include "export/message.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "export/frame.h"

static const struct {
	uint32_t bit;
	const char *name;
} events_names[] = {
	{ EPOLLIN, "in" },	   { EPOLLPRI, "pri" },	      { EPOLLOUT, "out" },
	{ EPOLLERR, "err" },	   { EPOLLHUP, "hup" },	      { EPOLLRDHUP, "rdhup" },
	{ EPOLLRDNORM, "rdnorm" }, { EPOLLRDBAND, "rdband" }, { EPOLLWRNORM, "wrnorm" },
	{ EPOLLWRBAND, "wrband" }, { EPOLLMSG, "msg" },
};

void message__add_events(struct strbuf *sb, uint32_t events)
{
	const char *sep = "";

	for (size_t i = 0; i < sizeof(events_names) / sizeof(*events_names); i++) {
		if (!(events & events_names[i].bit))
			continue;
		strbuf__addf(sb, "%s%s", sep, events_names[i].name);
		events &= ~events_names[i].bit;
		sep = "|";
	}
	if (events)
		strbuf__addf(sb, "%s0x%" PRIx32, sep, events);
}

void message_name__add(struct strbuf *sb, const struct message_name *name, bool call)
{
	if (name->symbol && *name->symbol) {
		function__add_short(sb, name->symbol, "<…>", false);
		strbuf__adds(sb, call ? "()" : "");
	} else if (name->module) {
		strbuf__addf(sb, "%s+0x%" PRIx64, module__base(name->module), name->offset);
	}
}

/* A bare number needs a sign of what it is: Android's own traces write "#12". */
static void add_what(struct strbuf *sb, const char *what)
{
	const char *digits = what + (*what == '-');

	if (*digits && !digits[strspn(digits, "0123456789")])
		strbuf__addc(sb, '#');
	strbuf__adds(sb, what);
}

static void add_fd(struct strbuf *sb, const struct message_fd *fd)
{
	if (fd->target && strcmp(fd->target, MESSAGE_FD_CLOSED))
		strbuf__adds(sb, fd->target);
	else if (fd->target)
		strbuf__addf(sb, "fd %" PRId32 " (%s)", fd->fd, fd->target);
	else
		strbuf__addf(sb, "fd %" PRId32, fd->fd);
}

static void add_separator(struct strbuf *sb, size_t begin)
{
	if (sb->len > begin)
		strbuf__adds(sb, ", ");
}

/* A callback's value that is no function is whatever the row of the catalogue made of it. */
static void add_names(struct strbuf *sb, const struct message *message, size_t begin)
{
	if (message_name__is_known(&message->callback)) {
		add_separator(sb, begin);
		message_name__add(sb, &message->callback,
				  message->callback.symbol && message->callback.module);
	}
	if (message_name__is_known(&message->source)) {
		strbuf__adds(sb, sb->len > begin ? " of " : "source ");
		message_name__add(sb, &message->source, false);
	}
}

/* The first of several must not be blamed for all. */
static void add_ready(struct strbuf *sb, const struct message *message, size_t begin)
{
	bool fd_known = message->fd.fd >= 0 || message->fd.target;

	if (message->ready_cnt > 1) {
		add_separator(sb, begin);
		strbuf__addf(sb, "%" PRIu32 " ready", message->ready_cnt);
	}
	if (!fd_known)
		return;
	add_separator(sb, begin);
	strbuf__adds(sb, message->ready_cnt > 1 ? "first " : "");
	add_fd(sb, &message->fd);
}

void message__add_phrase(struct strbuf *sb, const struct message *message)
{
	size_t begin = sb->len;

	if (!message)
		return;
	if (message->what && *message->what)
		add_what(sb, message->what);
	if (message_name__is_known(&message->handler)) {
		strbuf__adds(sb, sb->len > begin ? " to " : "to ");
		message_name__add(sb, &message->handler, false);
	}
	add_names(sb, message, begin);
	add_ready(sb, message, begin);
}
