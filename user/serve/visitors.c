/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/visitors.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

#ifdef HAVE_MICROHTTPD

struct visitor {
	int fd;
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: none */
	struct visitor *next;
};

static void add(struct visitors *visitors, struct MHD_Connection *connection, void **socket_ctx)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct visitor *visitor = info ? calloc(1, sizeof(*visitor)) : NULL;

	*socket_ctx = visitor;
	if (!visitor)
		return;
	*visitor = (struct visitor){ info->connect_fd, clock__mono_ns() + visitors->first_ns,
				     visitors->list };
	visitors->list = visitor;
}

static void drop(struct visitors *visitors, struct visitor *visitor)
{
	struct visitor **at = &visitors->list;

	while (*at && *at != visitor)
		at = &(*at)->next;
	if (*at)
		*at = visitor->next;
	free(visitor);
}

void visitors__on_connection(void *visitors, struct MHD_Connection *connection, void **socket_ctx,
			     enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		add(visitors, connection, socket_ctx);
	else
		drop(visitors, *socket_ctx);
}

void visitors__give_time(struct MHD_Connection *connection, uint64_t ns)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct visitor *visitor = info ? info->socket_context : NULL;

	if (visitor)
		visitor->end_ns = ns ? clock__mono_ns() + ns : 0;
}

void visitors__end_slow(const struct visitors *visitors)
{
	uint64_t now = clock__mono_ns();

	for (struct visitor *visitor = visitors->list; visitor; visitor = visitor->next)
		if (visitor->end_ns && now > visitor->end_ns)
			shutdown(visitor->fd, SHUT_RDWR);
}

#endif
