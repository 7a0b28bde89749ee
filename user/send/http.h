/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP client for backends, by libcurl. Everything of the server is bounded: time, headers, body. A
 * redirect is not followed, since another host must not get our secrets. One thread for each
 * struct.
 *
 * libcurl is loaded when a client starts: linking it would load GnuTLS for every other command and
 * process of ours. A static build has no client.
 */
#ifndef JANK_SEND_HTTP_H
#define JANK_SEND_HTTP_H

#include "base/err.h"
#include "base/strbuf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_TIMEOUT_NS	   30000000000ull /* default of a whole request */
#define HTTP_RETRY_AFTER_S 3600		  /* longer ones of a server are shortened to this */

struct http;

/*
 * How to reach a backend. Strings are borrowed; NULL: none. Files are read again for each request.
 */
struct http_settings {
	const char *user, *password_file; /* basic authentication */
	const char *token_file;		  /* bearer authentication */
	const char *ca_file;		  /* also of an https proxy; NULL: the system's */
	const char *cert_file, *key_file; /* of the client, PEM */
	const char *proxy;		  /* NULL: that of the environment (https_proxy, …) */
	uint64_t timeout_ns;		  /* of a request; 0: HTTP_TIMEOUT_NS */
};

struct http_request {
	const char *url;	      /* http or https; the text is encoded for URLs where needed */
	const char *content_type;     /* NULL: none */
	const char *content_encoding; /* of the body, such as "gzip"; NULL: none */
	const void *body;	      /* NULL: a GET; else a POST. Borrowed */
	size_t body_len;
	size_t answer_max; /* bytes of the answer's body; more are HTTP_WRONG, below status 400 */
	const char *error_header; /* sets has_error of an answer that has it. NULL: none */
	bool (*stops)(void *ctx); /* asked a few times a second: true ends it. NULL: never */
	void *ctx;		  /* of stops */
};

enum http_result {
	HTTP_ANSWERED,	/* status and body are set */
	HTTP_AWAY,	/* refused, not resolved, timed out, cut: try again */
	HTTP_UNTRUSTED, /* a certificate, or a file of the settings: only the user can change it */
	HTTP_WRONG,	/* not HTTP, or too long */
	HTTP_STOPPED,	/* by stops */
};

struct http_answer {
	enum http_result result;
	long status;		/* of HTTP_ANSWERED */
	struct strbuf body;	/* the caller frees it */
	bool timed_out;		/* of AWAY: connected, but not done in time */
	bool has_error;		/* the answer has the request's error_header */
	uint64_t retry_after_s; /* of date or seconds; 0: none. At most HTTP_RETRY_AFTER_S */
	struct err err;		/* unless ANSWERED or STOPPED: the reason, with its remedy */
};

/*
 * Loads libcurl. Returns 0, or -errno with a message: no such library, or not in this build. The
 * caller frees ret with http__free.
 */
int http__new(struct http **ret, struct err *err);
void http__free(struct http *http); /* accepts NULL */

/* Sends a request and waits for the answer. *ret is emptied first: its body must be initialized. */
void http__request(struct http *http, const struct http_settings *settings,
		   const struct http_request *request, struct http_answer *ret);

#endif
