/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changes something: read marks, mutes, deletion. */
#include "serve/server.h"

#ifdef HAVE_MICROHTTPD
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a change did, as JSON. */
static enum MHD_Result answer_done(const struct server *server, struct MHD_Connection *connection)
{
	char text[96];

	snprintf(text, sizeof(text), "{\"version\":%" PRIu64 "}\n", server->index.version);
	return answer__text(connection, MHD_HTTP_OK, "application/json", text);
}

static enum MHD_Result answer_read(struct server *server, struct MHD_Connection *connection)
{
	const struct indexed_record *at;
	uint64_t seq;
	int file, res = 0;

	if (request__number(request__argument(connection, "upto"), &seq)) {
		res = server__read_all(server, seq);
	} else if (request__number(request__argument(connection, "seq"), &seq)) {
		at = record_index__get(&server->index, seq, &file);
		if (!at || !at->id)
			return answer__error(connection, MHD_HTTP_NOT_FOUND,
					     "there is no such block any more");
		res = marks__set_read(&server->marks, at->id);
	} else {
		return answer__error(connection, MHD_HTTP_BAD_REQUEST,
				     "give seq=SEQ or upto=SEQ, a number");
	}
	server->stale = true;
	return res ? MHD_NO : answer_done(server, connection);
}

static enum MHD_Result answer_mute(struct server *server, struct MHD_Connection *connection)
{
	const char *sig = request__argument(connection, "sig"),
		   *on = request__argument(connection, "on");
	int res = -EINVAL;

	if (sig && on && (!strcmp(on, "0") || !strcmp(on, "1")))
		res = marks__mute(&server->marks, sig, *on == '1');
	if (res == -EINVAL)
		return answer__error(connection, MHD_HTTP_BAD_REQUEST,
				     "give sig=HEX, a signature, and on=0 or on=1");
	if (res == -ENOSPC)
		return answer__error(connection, MHD_HTTP_CONFLICT,
				     "too many faults are muted: show some again first");
	server->stale = true;
	return res ? MHD_NO : answer_done(server, connection);
}

enum MHD_Result answer__removed(struct server *server, struct MHD_Connection *connection,
				int result)
{
	char text[200];

	if (!result)
		return answer_done(server, connection);
	if (result == -ENOENT)
		return answer__error(connection, MHD_HTTP_NOT_FOUND,
				     "there is no such block any more");
	snprintf(text, sizeof(text), "the deletion failed: %s%s", strerror(-result),
		 result == -EBUSY    ? ": another process keeps the records locked: try again"
		 : result == -ENOSPC ? ": what stays is copied first: free some space"
				     : "");
	return answer__error(connection, MHD_HTTP_CONFLICT, text);
}

static enum MHD_Result start_removal(struct server *server, struct request *request)
{
	struct MHD_Connection *connection = request->connection;
	uint64_t seq;
	bool all = request__number(request__argument(connection, "upto"), &seq);

	if (!all && !request__number(request__argument(connection, "seq"), &seq))
		return answer__error(connection, MHD_HTTP_BAD_REQUEST,
				     "give seq=SEQ or upto=SEQ, a number");
	if (server->removal)
		return answer__error(connection, MHD_HTTP_CONFLICT,
				     "another deletion is under way: try again when it is done");
	server->removal = malloc(sizeof(*server->removal));
	if (!server->removal)
		return MHD_NO;
	removal__init(server->removal, &server->index, seq, all);
	server->remover = request;
	server->stale = true;
	mhd.suspend_connection(connection);
	return MHD_YES;
}

void server__removed(struct server *server, int result)
{
	struct request *request = server->remover;

	server->remover = NULL;
	if (!request)
		return;
	server->removal_result = result;
	request->removed = true;
	mhd.resume_connection(request->connection);
}

enum MHD_Result answer__change(struct server *server, struct request *request, const char *path)
{
	struct MHD_Connection *connection = request->connection;

	if (!strcmp(path, "/read"))
		return answer_read(server, connection);
	if (!strcmp(path, "/mute"))
		return answer_mute(server, connection);
	if (!strcmp(path, "/delete"))
		return start_removal(server, request);
	return answer__error(connection, MHD_HTTP_NOT_FOUND, "there is nothing at this address");
}

#endif
