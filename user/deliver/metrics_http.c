/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "deliver/metrics_http.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "options/options_table.h"
#include "serve/mhd.h"
#include "serve/visitors.h"

#define BACKLOG		 128
#define CONNECTIONS_MAX	 8
#define CONNECTION_BYTES (32u << 10) /* of the head of a request and its answer */
#define CONNECTION_S	 10	     /* without a byte, and for the whole of a request */
#define ANSWER_S	 60	     /* until the client has read the answer */
#define CHALLENGE	 "Basic realm=\"jankbpf\", charset=\"UTF-8\""
#define TLS_PRIORITIES	 "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* --- the socket */

static int bind_to(int fd, const char *address)
{
	struct sockaddr_storage at;
	socklen_t len;
	int on = 1, res = parse__address(address, &at, &len);

	if (res)
		return res;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&at, len) || listen(fd, BACKLOG))
		return -errno;
	return 0;
}

int metrics_http__listen(const char *address, struct err *err)
{
	int fd = socket(*address == '[' ? AF_INET6 : AF_INET,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int res = fd < 0 ? -errno : bind_to(fd, address);

	if (!res)
		return fd;
	if (fd >= 0)
		close(fd);
	return err__set(err, -res, "cannot serve the metrics on %s: %s%s", address, strerror(-res),
			res == -EADDRINUSE
				? ": another program has this port; give another listen in "
				  "[metrics], or off"
				: "; give another listen in [metrics], or off");
}

#ifdef HAVE_MICROHTTPD

struct metrics_http {
	struct MHD_Daemon *daemon;
	struct visitors visitors;
	int epoll_fd;
	const struct metrics *metrics;
	const struct metrics_access *access;
};

int metrics_http__load(struct err *err)
{
	return mhd__load(err);
}

/* --- answers */

/* The next request of the connection has its own time. */
static void on_completed(void *ctx, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	visitors__give_time(connection, CONNECTION_S * NS_PER_SEC);
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
			      struct strbuf *body)
{
	struct MHD_Response *response = mhd.create_response_from_buffer(
		body->len, (void *)strbuf__str(body), MHD_RESPMEM_MUST_COPY);
	enum MHD_Result ret = MHD_NO;

	visitors__give_time(connection, ANSWER_S * NS_PER_SEC);
	if (response && !body->failed &&
	    mhd.add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
	    (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     mhd.add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES) &&
	    (status != MHD_HTTP_UNAUTHORIZED ||
	     mhd.add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, CHALLENGE) ==
		     MHD_YES))
		ret = mhd.queue_response(connection, status, response);
	if (response)
		mhd.destroy_response(response);
	strbuf__free(body);
	return ret;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
	struct strbuf body = STRBUF_INIT;

	strbuf__addf(&body, "%s\n", text);
	return answer(connection, status, "text/plain; charset=utf-8", &body);
}

static bool may_read(const struct metrics_http *http, struct MHD_Connection *connection)
{
	char *password = NULL, *user;
	bool ret;

	if (!http->access->password)
		return true;
	user = mhd.basic_auth_get_username_password(connection, &password);
	ret = user && password && metrics_access__allows(http->access, user, password);
	mhd.free(user);
	mhd.free(password);
	return ret;
}

/* Called once with the head of a request, then for its body, which is not read, then at its end. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *data_size, void **state)
{
	const struct metrics_http *http = ctx;
	enum metrics_format format;
	struct strbuf body = STRBUF_INIT;
	static char seen;

	(void)version;
	(void)data;
	if (!*state) {
		*state = &seen;
		return MHD_YES;
	}
	if (*data_size) {
		*data_size = 0;
		return MHD_YES;
	}
	if (!may_read(http, connection))
		return refuse(connection, MHD_HTTP_UNAUTHORIZED,
			      "give user and password of [metrics]");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
	if (strcmp(url, "/metrics"))
		return refuse(connection, MHD_HTTP_NOT_FOUND, "the metrics are at /metrics");
	visitors__welcome(connection, http->access->password);
	format = metrics__negotiate(
		mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	metrics__write(http->metrics, format, &body);
	return answer(connection, MHD_HTTP_OK, metrics__content_type(format), &body);
}

/* --- the server */

static int check_library(const struct metrics_access *access, struct err *err)
{
	if (access->cert && mhd.is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return err__set(err, ENOSYS,
				"this libmicrohttpd has no TLS: leave out cert-file and key-file "
				"in [metrics]");
	if (access->password && mhd.is_feature_supported(MHD_FEATURE_BASIC_AUTH) != MHD_YES)
		return err__set(err, ENOSYS,
				"this libmicrohttpd has no basic authentication: leave out user "
				"and password-file in [metrics]");
	return 0;
}

static struct MHD_Daemon *start_daemon(struct metrics_http *http, int listen_fd)
{
	const struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)http->access->cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)http->access->key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, TLS_PRIORITIES },
		{ MHD_OPTION_END, 0, NULL },
	};
	const struct MHD_OptionItem *more = http->access->cert ? tls : &tls[3];
	unsigned flags = MHD_USE_EPOLL | (http->access->cert ? MHD_USE_TLS : 0);

	return mhd.start_daemon(
		flags, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX + VISITORS_ENDING,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_S, MHD_OPTION_NOTIFY_CONNECTION,
		visitors__on_connection, &http->visitors, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
		http, MHD_OPTION_ARRAY, more, MHD_OPTION_END);
}

int metrics_http__new(int listen_fd, const struct metrics *metrics,
		      const struct metrics_access *access, struct metrics_http **ret,
		      struct err *err)
{
	int res = check_library(access, err);
	struct metrics_http *http = res ? NULL : calloc(1, sizeof(*http));
	const union MHD_DaemonInfo *info;

	if (res)
		return res;
	if (!http)
		return err__set(err, ENOMEM, "out of memory");
	http->metrics = metrics;
	http->access = access;
	http->visitors.first_ns = CONNECTION_S * NS_PER_SEC;
	http->visitors.max = CONNECTIONS_MAX;
	http->daemon = start_daemon(http, listen_fd);
	info = http->daemon ? mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info) {
		metrics_http__free(http);
		return err__set(err, EIO, "libmicrohttpd cannot serve the metrics");
	}
	http->epoll_fd = info->epoll_fd;
	*ret = http;
	return 0;
}

void metrics_http__free(struct metrics_http *http)
{
	if (!http)
		return;
	if (http->daemon)
		mhd.stop_daemon(http->daemon);
	free(http);
}

/* Until a connection's time is over; -1: none is open. */
static int timeout_ms(const struct metrics_http *http)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(http->daemon, &ms) != MHD_YES)
		return -1;
	return ms > 1000 ? 1000 : (int)ms;
}

int metrics_http__wait(struct metrics_http *http, int fd)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
					{ .fd = http->epoll_fd, .events = POLLIN } };
		int cnt = poll(fds, 2, timeout_ms(http));

		if (cnt < 0 && errno != EINTR)
			return -errno;
		/* Also for fd alone: records may come more often than a connection times out. */
		visitors__end_slow(&http->visitors);
		if (cnt >= 0)
			visitors__run(&http->visitors, http->daemon);
		if (cnt > 0 && fds[0].revents)
			return 0;
	}
}

#else

int metrics_http__load(struct err *err)
{
	return err__set(err, ENOSYS,
			"this build has no HTTP server for the metrics: set listen = off in "
			"[metrics], and textfile for node_exporter");
}

int metrics_http__new(int listen_fd, const struct metrics *metrics,
		      const struct metrics_access *access, struct metrics_http **ret,
		      struct err *err)
{
	return metrics_http__load(err);
}

void metrics_http__free(struct metrics_http *http)
{
}

int metrics_http__wait(struct metrics_http *http, int fd)
{
	return 0;
}

#endif
