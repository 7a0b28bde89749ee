/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon: connections, who may ask, and which answer belongs to which path. */
#include "serve/server.h"

#ifdef HAVE_MICROHTTPD
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/visitors.h"

#define CONNECTIONS_MAX	 64
#define IDLE_SECONDS	 15u
#define HEADERS_MAX	 (32u << 10) /* bytes of memory of a connection: its headers and output */
#define FIRST_REQUEST_NS (20 * NS_PER_SEC)

static const char page[] =
#include "serve_page.inc"
	;

static const char no_access[] =
	"only the page of this server, with the token of the printed address, may ask: a request "
	"needs the header " TOKEN_HEADER;

/* The same for everybody: it holds no data and no secret. */
static enum MHD_Result answer_page(struct MHD_Connection *connection)
{
	return answer__queue(connection, MHD_HTTP_OK,
			     mhd.create_response_from_buffer(sizeof(page) - 1, (void *)page,
							     MHD_RESPMEM_PERSISTENT),
			     "text/html; charset=utf-8");
}

/* --- one request */

/*
 * The token is in a header, which only a script of our own page adds. A cookie would go to every
 * server of 127.0.0.1, whatever its port and user.
 */
static bool is_allowed(const struct server *server, struct MHD_Connection *connection)
{
	const struct request_source source = {
		request__header(connection, "Host"),
		request__header(connection, "Origin"),
		request__header(connection, "Sec-Fetch-Site"),
	};

	return request__is_own_page(&source) &&
	       token__is(server->token, request__header(connection, TOKEN_HEADER));
}

static bool has_body(struct MHD_Connection *connection)
{
	const char *length = request__header(connection, "Content-Length");

	return request__header(connection, "Transfer-Encoding") || (length && strcmp(length, "0"));
}

static enum MHD_Result get(struct server *server, struct MHD_Connection *connection,
			   const char *path)
{
	static const struct {
		const char *path;
		enum MHD_Result (*answer)(struct server *server, struct MHD_Connection *connection);
	} paths[] = {
		{ "/data", answer__data },
		{ "/faults", answer__faults },
		{ "/share", answer__share },
		{ "/events", answer__events },
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (!strcmp(path, paths[i].path))
			return paths[i].answer(server, connection);
	return answer__error(connection, MHD_HTTP_NOT_FOUND, "there is nothing at this address");
}

/* Those that ask for nothing are ended, so that they do not use up the others'. */
static struct visitors visitors = { .first_ns = FIRST_REQUEST_NS, .max = CONNECTIONS_MAX };

void server__run(struct server *server)
{
	visitors__run(&visitors, server->daemon);
}

void server__check_connections(struct server *server)
{
	visitors__end_slow(&visitors);
}

/* --- the daemon */

static enum MHD_Result answer(struct server *server, struct request *request, const char *path,
			      const char *method)
{
	struct MHD_Connection *connection = request->connection;
	bool changes = !strcmp(method, "POST");

	if (!request__is_own_host(request__header(connection, "Host")))
		return answer__error(connection, MHD_HTTP_FORBIDDEN,
				     "this server answers only to 127.0.0.1, [::1] and localhost");
	if (!changes && strcmp(method, "GET"))
		return answer__error(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and POST only");
	if (!changes && !strcmp(path, "/"))
		return answer_page(connection);
	if (!is_allowed(server, connection))
		return answer__error(connection, MHD_HTTP_FORBIDDEN, no_access);
	visitors__give_time(connection, 0);
	visitors__welcome(connection, true);
	return changes ? answer__change(server, request, path) : get(server, connection, path);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *body,
				  size_t *body_len, void **request_ctx)
{
	struct server *server = ctx;
	struct request *request = *request_ctx;

	if (!request) {
		request = calloc(1, sizeof(*request));
		if (!request)
			return MHD_NO;
		request->connection = connection;
		*request_ctx = request;
		/* An answer in this first call ends the connection. */
		return has_body(connection) ? answer__error(connection, MHD_HTTP_CONTENT_TOO_LARGE,
							    "no request has a body here")
					    : MHD_YES;
	}
	if (request->asked)
		return request->removed
			       ? answer__removed(server, connection, server->removal_result)
			       : MHD_NO;
	request->asked = true;
	return answer(server, request, path, method);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request_ctx,
			 enum MHD_RequestTerminationCode code)
{
	struct server *server = ctx;

	if (server->remover == *request_ctx)
		server->remover = NULL;
	free(*request_ctx);
	*request_ctx = NULL;
}

/* No name of ours needs an escape, so one in a request makes it another name. */
static size_t keep_escapes(void *ctx, struct MHD_Connection *connection, char *text)
{
	return strlen(text);
}

static void be_quiet(void *ctx, const char *format, va_list ap)
{
}

int server__start(struct server *server, int fd, struct err *err)
{
	server->daemon = mhd.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		on_request, server, MHD_OPTION_EXTERNAL_LOGGER, be_quiet, NULL,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)CONNECTIONS_MAX + VISITORS_ENDING, MHD_OPTION_CONNECTION_TIMEOUT,
		IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, visitors__on_connection, &visitors,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_END);
	if (server->daemon)
		return 0;
	return err__set(err, EIO, "cannot start the HTTP server (libmicrohttpd): %s",
			strerror(errno));
}

void server__stop(struct server *server)
{
	if (!server->daemon)
		return;
	events__end(server);
	server__removed(server, -EINTR);
	mhd.run(server->daemon);
	mhd.stop_daemon(server->daemon);
	server->daemon = NULL;
}
#endif
