/* SPDX-License-Identifier: GPL-2.0 */
/* The HTTP client, against a server that answers each path in its own way, also hostile ones. */
#include "send/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/loopback.h"
#include "tests/unit/scratch.h"

#ifdef HAVE_CURL

static int port;
static struct http *http;

/* --- the server: one connection after the other */

static const struct {
	const char *path, *answer;
} answers[] = {
	{ "/ok", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" },
	{ "/busy", "HTTP/1.1 429 Slow down\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n" },
	{ "/later", "HTTP/1.1 503 Later\r\nRetry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\n"
		    "Content-Length: 0\r\n\r\n" },
	{ "/past", "HTTP/1.1 503 Later\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n"
		   "Content-Length: 0\r\n\r\n" },
	{ "/garbage", "\x16\x03\x01 what\r\n\r\n" },
	{ "/cut", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello" },
	{ "/nothing", "" },
	{ "/moved", "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n" },
};

static void repeat(int fd, const char *text)
{
	while (write(fd, text, strlen(text)) > 0)
		;
}

static void send_busy(int fd)
{
	const char *text = "HTTP/1.1 503 Later\r\nRetry-After: 7\r\n\r\n";

	if (write(fd, text, strlen(text)) < 0)
		return;
}

/* Reads a head and the body that it announces. */
static void read_request(int fd, char *ret, size_t size)
{
	size_t len = 0, body = 0;
	char *end = NULL, *length;

	while (len < size - 1 && (!end || len < (size_t)(end - ret) + body)) {
		ssize_t n = read(fd, ret + len, size - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
		ret[len] = '\0';
		if (!end && (end = strstr(ret, "\r\n\r\n"))) {
			end += 4;
			length = strcasestr(ret, "content-length: ");
			body = length && length < end ? strtoul(length + 16, NULL, 10) : 0;
		}
	}
	ret[len] = '\0';
}

static void serve(int fd)
{
	char request[8192], head[100];

	read_request(fd, request, sizeof(request));
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		if (strstr(request, answers[i].path) &&
		    write(fd, answers[i].answer, strlen(answers[i].answer)) < 0)
			return;
	if (strstr(request, "/echo")) {
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
			 strlen(request));
		if (write(fd, head, strlen(head)) > 0 && write(fd, request, strlen(request)) < 0)
			return;
	}
	if (strstr(request, "/endless")) {
		repeat(fd, "HTTP/1.1 200 OK\r\n\r\n");
		repeat(fd, "x");
	}
	if (strstr(request, "/long-503")) {
		send_busy(fd);
		repeat(fd, "x");
	}
	if (strstr(request, "/headers")) {
		write(fd, "HTTP/1.1 200 OK\r\n", 17) > 0 ? repeat(fd, "A: b\r\n") : (void)0;
	}
	if (strstr(request, "/silent"))
		read_request(fd, request, sizeof(request)); /* until the client gives up */
}

static pid_t start_server(void)
{
	return loopback__serve(serve, &port);
}

/* --- requests */

static struct http_answer ask(const char *path, const struct http_settings *settings,
			      const char *body, bool (*stops)(void *ctx))
{
	struct http_answer ret = {};
	char url[200];
	const struct http_request request = { .url = url,
					      .content_type = "text/plain",
					      .content_encoding = body ? "gzip" : NULL,
					      .body = body,
					      .body_len = body ? strlen(body) : 0,
					      .answer_max = 4096,
					      .stops = stops };

	snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", port, path);
	http__request(http, settings, &request, &ret);
	return ret;
}

static void test_answers(void)
{
	const struct http_settings none = {};
	struct http_answer a = ask("/ok", &none, NULL, NULL);

	is_int(a.result, HTTP_ANSWERED, "an answer");
	is_int(a.status, 200, "its status");
	is_str(strbuf__str(&a.body), "hello", "its body");
	strbuf__free(&a.body);
	a = ask("/busy", &none, "x", NULL);
	ok(a.status == 429 && a.retry_after_s == 7, "Retry-After in seconds");
	a = ask("/later", &none, "x", NULL);
	ok(a.status == 503 && a.retry_after_s == HTTP_RETRY_AFTER_S, "a far date is shortened");
	a = ask("/past", &none, "x", NULL);
	ok(a.status == 503 && !a.retry_after_s, "a past date is none");
	a = ask("/moved", &none, NULL, NULL);
	ok(a.result == HTTP_ANSWERED && a.status == 302, "a redirect is not followed");
}

static void test_request(void)
{
	struct http_settings settings = { .user = "agent", .password_file = scratch__path("pw") };
	struct http_answer a;

	scratch__write_text("pw", "secret\nsecond line\n");
	a = ask("/echo", &settings, "body", NULL);
	has_str(strbuf__str(&a.body), "POST /echo HTTP/1.1\r\n", "a body is posted");
	has_str(strbuf__str(&a.body), "\r\nContent-Encoding: gzip\r\n", "with its encoding");
	has_str(strbuf__str(&a.body), "\r\nAuthorization: Basic YWdlbnQ6c2VjcmV0\r\n",
		"with user and the first line of the file");
	lacks_str(strbuf__str(&a.body), "Expect:", "without a question first");
	strbuf__free(&a.body);
	settings = (struct http_settings){ .token_file = scratch__path("token") };
	scratch__write_text("token", "abc");
	a = ask("/echo", &settings, NULL, NULL);
	has_str(strbuf__str(&a.body), "GET /echo HTTP/1.1\r\n", "without a body: GET");
	has_str(strbuf__str(&a.body), "\r\nAuthorization: Bearer abc\r\n", "with the token");
	strbuf__free(&a.body);
	unlink(scratch__path("token"));
	scratch__write_text("token", "def");
	a = ask("/echo", &settings, NULL, NULL);
	has_str(strbuf__str(&a.body), "Bearer def", "the file is read again");
	strbuf__free(&a.body);
	unlink(scratch__path("token"));
	scratch__write_text("token", "a\x01z");
	a = ask("/echo", &settings, NULL, NULL);
	is_int(a.result, HTTP_UNTRUSTED, "a token with control bytes is not sent");
	has_str(a.err.msg, "token': no secret", "and the file is named");
	settings.token_file = "/nonexistent";
	a = ask("/echo", &settings, NULL, NULL);
	is_int(a.result, HTTP_UNTRUSTED, "a missing file is an error of the settings");
}

static bool at_once(void *ctx)
{
	return true;
}

static void test_hostile(void)
{
	const struct http_settings none = {}, hasty = { .timeout_ns = 300000000 };
	struct http_answer a = ask("/garbage", &none, NULL, NULL);

	is_int(a.result, HTTP_WRONG, "garbage");
	a = ask("/endless", &none, NULL, NULL);
	ok(a.result == HTTP_WRONG && a.body.len <= 4096, "an endless body ends at the limit");
	has_str(a.err.msg, "too long", "with its reason");
	strbuf__free(&a.body);
	a = ask("/long-503", &none, NULL, NULL);
	ok(a.result == HTTP_ANSWERED && a.status == 503 && a.retry_after_s == 7,
	   "a long page of an error has its status");
	strbuf__free(&a.body);
	a = ask("/headers", &none, NULL, NULL);
	is_int(a.result, HTTP_WRONG, "endless headers");
	a = ask("/cut", &none, NULL, NULL);
	is_int(a.result, HTTP_AWAY, "a body that is cut");
	strbuf__free(&a.body);
	a = ask("/nothing", &none, NULL, NULL);
	is_int(a.result, HTTP_AWAY, "no answer");
	a = ask("/silent", &hasty, NULL, NULL);
	is_int(a.result, HTTP_AWAY, "no answer in time");
	a = ask("/silent", &none, NULL, at_once);
	is_int(a.result, HTTP_STOPPED, "the caller ends it");
}

static void test_unreachable(void)
{
	const struct http_settings none = {}, ca = { .ca_file = "/nonexistent" };
	const struct http_request request = { .url = "http://127.0.0.1:1/", .answer_max = 10 },
				  tls = { .url = "https://127.0.0.1:1/", .answer_max = 10 },
				  other = { .url = "http://[", .answer_max = 10 };
	struct http_answer a = {};

	http__request(http, &none, &request, &a);
	is_int(a.result, HTTP_AWAY, "refused");
	has_str(a.err.msg, "'http://127.0.0.1:1/': ", "the message names the URL");
	http__request(http, &none, &other, &a);
	is_int(a.result, HTTP_UNTRUSTED, "no URL");
	http__request(http, &ca, &tls, &a);
	ok(a.result == HTTP_AWAY || a.result == HTTP_UNTRUSTED, "TLS: refused");
}

int main(void)
{
	struct err err = {};
	pid_t server = start_server();

	scratch__init();
	if (http__new(&http, &err)) {
		skip_all("%s", err.msg);
	} else {
		test_answers();
		test_request();
		test_hostile();
		test_unreachable();
		http__free(http);
	}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return tap__done();
}

#else

int main(void)
{
	struct http *http;
	struct err err = {};

	is_int(http__new(&http, &err), -ENOSYS, "this build has no client");
	has_str(err.msg, "libcurl4-gnutls-dev", "the message names the package");
	return tap__done();
}

#endif
