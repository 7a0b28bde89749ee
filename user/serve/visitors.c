/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/visitors.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

#ifdef HAVE_MICROHTTPD

#define RUNS_MAX 16 /* then other work has its turn */

struct visitor {
	int fd;
	uint64_t end_ns;  /* CLOCK_MONOTONIC; 0: none */
	uint64_t seen_ns; /* CLOCK_MONOTONIC of its begin, or of its last valid request */
	bool known, ending;
	struct visitor *next;
};

static void end(struct visitors *visitors, struct visitor *visitor)
{
	if (visitor->ending)
		return;
	visitor->ending = true;
	visitors->cnt--;
	visitors->ending++;
	shutdown(visitor->fd, SHUT_RDWR);
}

static void make_room(struct visitors *visitors)
{
	struct visitor *oldest = NULL;

	for (struct visitor *one = visitors->list; one; one = one->next)
		if (!one->known && !one->ending && (!oldest || one->seen_ns < oldest->seen_ns))
			oldest = one;
	if (oldest)
		end(visitors, oldest);
}

static void add(struct visitors *visitors, struct MHD_Connection *connection, void **socket_ctx)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct visitor *visitor = info ? calloc(1, sizeof(*visitor)) : NULL;
	uint64_t now = clock__mono_ns();

	*socket_ctx = visitor;
	if (!visitor)
		return;
	if (visitors->cnt >= visitors->max)
		make_room(visitors);
	*visitor = (struct visitor){ .fd = info->connect_fd,
				     .end_ns = now + visitors->first_ns,
				     .seen_ns = now,
				     .next = visitors->list };
	visitors->list = visitor;
	visitors->cnt++;
}

static void drop(struct visitors *visitors, struct visitor *visitor)
{
	struct visitor **at = &visitors->list;

	while (*at && *at != visitor)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = visitor->next;
	visitors->cnt -= !visitor->ending;
	visitors->ending -= visitor->ending;
	visitors->left = true;
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

static struct visitor *visitor_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void visitors__give_time(struct MHD_Connection *connection, uint64_t ns)
{
	struct visitor *visitor = visitor_of(connection);

	if (visitor)
		visitor->end_ns = ns ? clock__mono_ns() + ns : 0;
}

void visitors__welcome(struct MHD_Connection *connection, bool known)
{
	struct visitor *visitor = visitor_of(connection);

	if (!visitor)
		return;
	visitor->seen_ns = clock__mono_ns();
	visitor->known = known;
}

void visitors__run(struct visitors *visitors, struct MHD_Daemon *daemon)
{
	for (unsigned i = 0; i < RUNS_MAX; i++) {
		visitors->left = false;
		mhd.run(daemon);
		if (!visitors->left && !visitors->ending)
			return;
	}
}

void visitors__end_slow(struct visitors *visitors)
{
	uint64_t now = clock__mono_ns();

	for (struct visitor *visitor = visitors->list; visitor; visitor = visitor->next)
		if (visitor->end_ns && now > visitor->end_ns)
			end(visitors, visitor);
}

#endif
