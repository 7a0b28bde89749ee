/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the HTTP server: the state that all requests share, and the answers. One thread. The
 * page asks for:
 *   GET /              the page, which everybody may have; all else needs TOKEN_HEADER
 *   GET /data          the newest records as JSON Lines, as gzip; ?before=SEQ older ones,
 *                      ?after=SEQ newer ones, ?worst=SEQ the worst older ones. The first line, but
 *                      of the worst: {"first":SEQ,"end":SEQ,"older":COUNT,"version":COUNT}. Before
 *                      each record: {"seq":SEQ,"read":BOOL}
 *   GET /faults        the figures of each fault (serve/fault_list.h)
 *   GET /events        the state as a line of JSON, whenever it changes
 *   GET /share         ?seq=SEQ&as=json|log|zip: a block as a file
 *   POST /read         ?seq=SEQ, or ?upto=SEQ: marks as read
 *   POST /mute         ?sig=HEX&on=0|1
 *   POST /delete       ?seq=SEQ, or ?upto=SEQ
 */
#ifndef JANK_SERVE_SERVER_H
#define JANK_SERVE_SERVER_H

#include "serve/address.h"
#include "serve/marks.h"
#include "serve/mhd.h"
#include "serve/record_index.h"
#include "serve/removal.h"
#include "serve/request.h"
#include "serve/serve.h"

struct event_stream;
struct request;

struct server {
	struct record_index index;
	struct marks marks;
	struct address address;
	char token[TOKEN_LEN + 1];
	struct removal *removal; /* NULL: none is running */
	struct request *remover; /* its request, which waits for the end; NULL: it has gone */
	int removal_result;
	struct strbuf state; /* JSON, as the page knows it */
	uint64_t state_nr;   /* grows when state changes */
	uint64_t state_ns;   /* CLOCK_MONOTONIC of the next look */
	bool stale;	     /* state may have changed */
	bool working;	     /* the index has more to do */
	serve_left_out_fn *on_left_out;
	bool said_left; /* it was called */
	bool pruned;	/* marks of blocks that are gone were removed */
	int watch_fd;	/* inotify; -1: not available, then the files are looked at each second */
	struct event_stream *streams;
	unsigned stream_cnt, data_cnt; /* answers under way */
#ifdef HAVE_MICROHTTPD
	struct MHD_Daemon *daemon;
#endif
};

/* --- state.c */

/* Makes server->state again, at most ten times a second. True if it changed. */
bool server__look_at_state(struct server *server);
/* Marks every block up to seq as read. 0 or -ENOMEM. */
int server__read_all(struct server *server, uint64_t seq);
/* Forgets marks of blocks that are gone. */
void server__prune(struct server *server);

#ifdef HAVE_MICROHTTPD

/* --- http.c */

/* Starts to serve on the descriptor, which the server takes. 0, or -errno with a message. */
int server__start(struct server *server, int fd, struct err *err);
void server__stop(struct server *server);
/* Looks at the connections, and answers requests. */
void server__run(struct server *server);
/* Ends connections that have not asked for anything in time. */
void server__check_connections(struct server *server);

/* --- answers.c */

/*
 * Queues a response with the headers of all answers, and destroys it. NULL: out of memory, which
 * ends the connection. type: the media type.
 */
enum MHD_Result answer__queue(struct MHD_Connection *connection, unsigned status,
			      struct MHD_Response *response, const char *type);
/* Queues a text, which is copied. */
enum MHD_Result answer__text(struct MHD_Connection *connection, unsigned status, const char *type,
			     const char *text);
enum MHD_Result answer__error(struct MHD_Connection *connection, unsigned status, const char *text);

/* NULL: there is none. */
const char *request__argument(struct MHD_Connection *connection, const char *key);
const char *request__header(struct MHD_Connection *connection, const char *key);

/* Of a connection's present request, from its headers to its end. */
struct request {
	struct MHD_Connection *connection;
	bool asked;   /* it was looked at */
	bool removed; /* the removal that it waited for has ended */
};

/* --- changes.c */

/* Answers a POST, once it is known who asks. */
enum MHD_Result answer__change(struct server *server, struct request *request, const char *path);
/* Answers a request whose removal has ended, with 0 or -errno. */
enum MHD_Result answer__removed(struct server *server, struct MHD_Connection *connection,
				int result);

/* Wakes the request that waits for the removal. */
void server__removed(struct server *server, int result);

/* --- data.c, share.c, events.c: the answers to one path */

enum MHD_Result answer__data(struct server *server, struct MHD_Connection *connection);
enum MHD_Result answer__faults(struct server *server, struct MHD_Connection *connection);
enum MHD_Result answer__share(struct server *server, struct MHD_Connection *connection);
enum MHD_Result answer__events(struct server *server, struct MHD_Connection *connection);
/* Sends what is new, and after a while an empty line, which finds closed connections. */
void events__send(struct server *server);
/* Ends all streams. */
void events__end(struct server *server);

#endif
#endif
