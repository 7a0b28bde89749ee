/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of JSON: the whole state at each change, so that a client that misses one needs none of
 * them. A stream sleeps (suspended) until there is news.
 */
#include "serve/server.h"

#ifdef HAVE_MICROHTTPD
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define STREAMS_MAX 16
#define BEAT_NS	    (15 * NS_PER_SEC)
#define BLOCK_SIZE  4096

struct event_stream {
	struct server *server;
	struct MHD_Connection *connection;
	struct event_stream *next;
	uint64_t sent_nr; /* of the state */
	uint64_t sent_ns; /* CLOCK_MONOTONIC of the last bytes */
	struct strbuf bytes;
	size_t sent;
	bool suspended, ending;
};

static void free_stream(void *ctx)
{
	struct event_stream *stream = ctx, **at = &stream->server->streams;

	while (*at && *at != stream)
		at = &(*at)->next;
	if (*at)
		*at = stream->next;
	stream->server->stream_cnt--;
	strbuf__free(&stream->bytes);
	free(stream);
}

static void fill(struct event_stream *stream)
{
	const struct server *server = stream->server;
	uint64_t now = clock__mono_ns();

	strbuf__reset(&stream->bytes);
	stream->sent = 0;
	if (stream->sent_nr != server->state_nr) {
		strbuf__addf(&stream->bytes, "%s\n", strbuf__str(&server->state));
		stream->sent_nr = server->state_nr;
	} else if (now - stream->sent_ns >= BEAT_NS) {
		strbuf__addc(&stream->bytes, '\n');
	}
	if (stream->bytes.len)
		stream->sent_ns = now;
}

static ssize_t read_stream(void *ctx, uint64_t pos, char *buf, size_t max)
{
	struct event_stream *stream = ctx;
	size_t left = stream->bytes.len - stream->sent;

	if (stream->ending)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!left) {
		fill(stream);
		left = stream->bytes.len;
	}
	if (stream->bytes.failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (!left) {
		stream->suspended = true;
		mhd.suspend_connection(stream->connection);
		return 0;
	}
	if (left > max)
		left = max;
	memcpy(buf, stream->bytes.data + stream->sent, left);
	stream->sent += left;
	return (ssize_t)left;
}

static void wake(struct event_stream *stream)
{
	if (!stream->suspended)
		return;
	stream->suspended = false;
	mhd.resume_connection(stream->connection);
}

void events__send(struct server *server)
{
	uint64_t now = clock__mono_ns();

	for (struct event_stream *stream = server->streams; stream; stream = stream->next)
		if (stream->sent_nr != server->state_nr || now - stream->sent_ns >= BEAT_NS)
			wake(stream);
}

void events__end(struct server *server)
{
	for (struct event_stream *stream = server->streams; stream; stream = stream->next) {
		stream->ending = true;
		wake(stream);
	}
}

enum MHD_Result answer__events(struct server *server, struct MHD_Connection *connection)
{
	struct event_stream *stream;
	struct MHD_Response *response;

	if (server->stream_cnt >= STREAMS_MAX)
		return answer__error(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				     "too many pages are open: close one");
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return MHD_NO;
	*stream = (struct event_stream){ .server = server,
					 .connection = connection,
					 .sent_nr = UINT64_MAX,
					 .next = server->streams };
	server->streams = stream;
	server->stream_cnt++;
	mhd.set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	response = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, read_stream,
						     stream, free_stream);
	if (!response) {
		free_stream(stream);
		return MHD_NO;
	}
	return answer__queue(connection, MHD_HTTP_OK, response, "application/x-ndjson");
}
#endif
