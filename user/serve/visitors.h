/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of a server, each with a time at which it is ended: a connection that does not come
 * to an end keeps out others. libmicrohttpd's own limit is renewed by each byte. Thread of the
 * daemon only.
 */
#ifndef JANK_SERVE_VISITORS_H
#define JANK_SERVE_VISITORS_H

#include <stdint.h>

#include "serve/mhd.h"

#ifdef HAVE_MICROHTTPD

struct visitors {
	uint64_t first_ns; /* time of a new connection */
	struct visitor *list;
};

/* For MHD_OPTION_NOTIFY_CONNECTION; visitors: a struct visitors, borrowed until the daemon ends. */
void visitors__on_connection(void *visitors, struct MHD_Connection *connection, void **socket_ctx,
			     enum MHD_ConnectionNotificationCode code);

/* Gives the connection that time from now on. 0: as long as it likes. */
void visitors__give_time(struct MHD_Connection *connection, uint64_t ns);

/* Ends connections that have used up their time. Call it at least once a second. */
void visitors__end_slow(const struct visitors *visitors);

#endif
#endif
