/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections of a server. Each has a time at which it is ended: a connection that does not come
 * to an end keeps out others, and libmicrohttpd's own limit is renewed by each byte. When there are
 * too many, the oldest one without a right to be here makes room. Thread of the daemon only.
 */
#ifndef JANK_SERVE_VISITORS_H
#define JANK_SERVE_VISITORS_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/mhd.h"

#ifdef HAVE_MICROHTTPD

/* Room that the daemon needs beyond `max`, for connections that are being ended. */
#define VISITORS_ENDING 4

struct visitors {
	uint64_t first_ns; /* time of a new connection */
	unsigned max;	   /* the daemon must have VISITORS_ENDING more */
	unsigned cnt;	   /* open, and not being ended */
	unsigned ending;   /* being ended */
	bool left;	   /* some have gone since the daemon ran */
	struct visitor *list;
};

/* For MHD_OPTION_NOTIFY_CONNECTION; visitors: a struct visitors, borrowed until the daemon ends. */
void visitors__on_connection(void *visitors, struct MHD_Connection *connection, void **socket_ctx,
			     enum MHD_ConnectionNotificationCode code);

/* Gives the connection that time from now on. 0: as long as it likes. */
void visitors__give_time(struct MHD_Connection *connection, uint64_t ns);

/*
 * A valid request came. known: by somebody who proved who it is: it never makes room for others.
 * Otherwise the connection is the last to make room, as if it were new.
 */
void visitors__welcome(struct MHD_Connection *connection, bool known);

/*
 * MHD_run, and again while that ends connections: their room is used by those that wait, which the
 * daemon would only look at when something else happens.
 */
void visitors__run(struct visitors *visitors, struct MHD_Daemon *daemon);

/* Ends connections that have used up their time. Call it at least once a second. */
void visitors__end_slow(struct visitors *visitors);

#endif
#endif
