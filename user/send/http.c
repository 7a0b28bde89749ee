/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/http.h"

#include <errno.h>

#ifdef HAVE_CURL
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text.h"
#include "files/file.h"

#define LIBRARY	   "libcurl-gnutls.so.4"
#define SECRET_MAX 4096
#define HEAD_MAX   65536 /* bytes of all headers of an answer */
#define CONNECT_MS 10000l

#define CURL_FUNCTIONS(X)                                                                          \
	X(global_init)                                                                             \
	X(easy_init)                                                                               \
	X(easy_reset)                                                                              \
	X(easy_setopt)                                                                             \
	X(easy_perform)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_cleanup)                                                                            \
	X(easy_strerror)                                                                           \
	X(slist_append)                                                                            \
	X(slist_free_all)

#define CURL_MEMBER(name) __typeof__(curl_##name) *name;
static struct {
	CURL_FUNCTIONS(CURL_MEMBER)
} curl;

struct http {
	CURL *handle; /* keeps its connections between requests */
	char error[CURL_ERROR_SIZE];
};

static int load(struct err *err)
{
	void *so = dlopen(LIBRARY, RTLD_NOW);
	bool whole = so;

#define CURL_LOAD(name)                                                                            \
	if (so)                                                                                    \
		*(void **)&curl.name = dlsym(so, "curl_" #name);                                   \
	whole = whole && curl.name;
	CURL_FUNCTIONS(CURL_LOAD)
	if (whole && !curl.global_init(CURL_GLOBAL_DEFAULT))
		return 0;
	return err__set(err, ENOENT,
			"to send records needs " LIBRARY
			", which cannot be loaded: install libcurl3-gnutls");
}

int http__new(struct http **ret, struct err *err)
{
	struct http *http;
	int res = load(err);

	if (res)
		return res;
	http = calloc(1, sizeof(*http));
	if (http)
		http->handle = curl.easy_init();
	if (!http || !http->handle) {
		free(http);
		return err__set(err, ENOMEM, "out of memory");
	}
	*ret = http;
	return 0;
}

void http__free(struct http *http)
{
	if (!http)
		return;
	curl.easy_cleanup(http->handle);
	free(http);
}

/* --- secrets */

/* The first line of a file. 0; or -errno with a message. */
static int read_secret(const char *path, struct strbuf *ret, struct err *err)
{
	int res = file__read(path, SECRET_MAX, ret);
	size_t len = res ? 0 : text__secret_len(strbuf__str(ret));

	if (res)
		return err__set(err, -res,
				"'%s': cannot read the secret: %s; it is read for each request, "
				"so correct the file",
				path, res == -EFBIG ? "more than 4 KB" : strerror(-res));
	if (!len)
		return err__set(err, EINVAL,
				"'%s': no secret: its first line is empty or has control bytes",
				path);
	ret->data[len] = '\0';
	return 0;
}

/* libcurl copies strings. */
static int set_secrets(struct http *http, const struct http_settings *s, struct err *err)
{
	struct strbuf secret = STRBUF_INIT;
	int res = 0;

	if (s->user) {
		if (s->password_file)
			res = read_secret(s->password_file, &secret, err);
		curl.easy_setopt(http->handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl.easy_setopt(http->handle, CURLOPT_USERNAME, s->user);
		curl.easy_setopt(http->handle, CURLOPT_PASSWORD, strbuf__str(&secret));
	} else if (s->token_file) {
		res = read_secret(s->token_file, &secret, err);
		curl.easy_setopt(http->handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl.easy_setopt(http->handle, CURLOPT_XOAUTH2_BEARER, strbuf__str(&secret));
	}
	if (secret.data)
		explicit_bzero(secret.data, secret.cap);
	strbuf__free(&secret);
	return res;
}

/* --- a request */

struct transfer {
	const struct http_request *request;
	struct http_answer *answer;
	size_t head_len;
	bool too_long;
};

static size_t on_body(char *bytes, size_t size, size_t cnt, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * cnt;

	if (len > t->request->answer_max - t->answer->body.len) {
		t->too_long = true;
		return 0;
	}
	strbuf__add(&t->answer->body, bytes, len);
	return t->answer->body.failed ? 0 : len;
}

/* True if the line of a header has this name. */
static bool is_named(const char *line, size_t len, const char *name)
{
	size_t name_len = name ? strlen(name) : 0;

	return name_len && len > name_len && line[name_len] == ':' &&
	       !strncasecmp(line, name, name_len);
}

static size_t on_header(char *bytes, size_t size, size_t cnt, void *ctx)
{
	struct transfer *t = ctx;

	t->answer->has_error |= is_named(bytes, size * cnt, t->request->error_header);
	t->head_len += size * cnt;
	t->too_long |= t->head_len > HEAD_MAX;
	return t->too_long ? 0 : size * cnt;
}

static int on_progress(void *ctx, curl_off_t down_cnt, curl_off_t down, curl_off_t up_cnt,
		       curl_off_t up)
{
	const struct transfer *t = ctx;

	return t->request->stops && t->request->stops(t->request->ctx);
}

/* NULL: out of memory. */
static struct curl_slist *headers_of(const struct http_request *r)
{
	struct strbuf line = STRBUF_INIT;
	struct curl_slist *ret = curl.slist_append(NULL, "Expect:"), *next = ret;

	if (next && r->content_type) {
		strbuf__addf(&line, "Content-Type: %s", r->content_type);
		next = curl.slist_append(ret, strbuf__str(&line));
	}
	if (next && r->content_encoding) {
		strbuf__reset(&line);
		strbuf__addf(&line, "Content-Encoding: %s", r->content_encoding);
		next = curl.slist_append(ret, strbuf__str(&line));
	}
	if (!next)
		curl.slist_free_all(ret);
	strbuf__free(&line);
	return next ? ret : NULL;
}

static void set_connection(CURL *h, const struct http_settings *s)
{
	uint64_t ms = (s->timeout_ns ? s->timeout_ns : HTTP_TIMEOUT_NS) / NS_PER_MS;

	curl.easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl.easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl.easy_setopt(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl.easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0l);
	curl.easy_setopt(h, CURLOPT_NOSIGNAL, 1l);
	curl.easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)ms < CONNECT_MS ? (long)ms : CONNECT_MS);
	curl.easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)ms);
	curl.easy_setopt(h, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (s->ca_file) {
		curl.easy_setopt(h, CURLOPT_CAINFO, s->ca_file);
		curl.easy_setopt(h, CURLOPT_PROXY_CAINFO, s->ca_file);
	}
	/* Not for a proxy: it gets no certificate of ours. */
	if (s->cert_file)
		curl.easy_setopt(h, CURLOPT_SSLCERT, s->cert_file);
	if (s->key_file)
		curl.easy_setopt(h, CURLOPT_SSLKEY, s->key_file);
	if (s->proxy)
		curl.easy_setopt(h, CURLOPT_PROXY, s->proxy);
}

static void set_request(CURL *h, struct transfer *t, struct curl_slist *headers)
{
	const struct http_request *r = t->request;

	curl.easy_setopt(h, CURLOPT_URL, r->url);
	curl.easy_setopt(h, CURLOPT_USERAGENT, "jankbpf/" JANK_VERSION);
	curl.easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	if (r->body) {
		curl.easy_setopt(h, CURLOPT_POST, 1l);
		curl.easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
		curl.easy_setopt(h, CURLOPT_POSTFIELDS, r->body);
	}
	curl.easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body);
	curl.easy_setopt(h, CURLOPT_WRITEDATA, t);
	curl.easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl.easy_setopt(h, CURLOPT_HEADERDATA, t);
	curl.easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl.easy_setopt(h, CURLOPT_XFERINFODATA, t);
	curl.easy_setopt(h, CURLOPT_NOPROGRESS, 0l);
}

static enum http_result result_of(CURLcode code, const struct transfer *t)
{
	switch ((int)code) {
	case CURLE_OK:
		return HTTP_ANSWERED;
	case CURLE_ABORTED_BY_CALLBACK:
		return HTTP_STOPPED;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CIPHER:
	case CURLE_URL_MALFORMAT:
		return HTTP_UNTRUSTED;
	case CURLE_WRITE_ERROR:
		return t->too_long ? HTTP_WRONG : HTTP_AWAY;
	case CURLE_UNSUPPORTED_PROTOCOL: /* an answer without HTTP's first line */
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
		return HTTP_WRONG;
	}
	return HTTP_AWAY;
}

static const char *remedy_of(enum http_result result)
{
	switch (result) {
	case HTTP_UNTRUSTED:
		return "check the URL, ca-file, cert-file and key-file";
	case HTTP_WRONG:
		return "is this the URL of such a backend?";
	default:
		return "it is tried again; check the URL, and that the backend runs";
	}
}

/* The time of a connection's start says nothing of the request. */
static bool is_connected(CURL *handle)
{
	double seconds = 0;

	return !curl.easy_getinfo(handle, CURLINFO_PRETRANSFER_TIME, &seconds) && seconds > 0;
}

static void finish(struct http *http, CURLcode code, struct transfer *t)
{
	struct http_answer *a = t->answer;
	curl_off_t after = 0;

	a->result = result_of(code, t);
	curl.easy_getinfo(http->handle, CURLINFO_RESPONSE_CODE, &a->status);
	a->timed_out = code == CURLE_OPERATION_TIMEDOUT && is_connected(http->handle);
	/* A long page of a proxy says no less by its status. */
	if (a->result == HTTP_WRONG && t->too_long && a->status >= 400)
		a->result = HTTP_ANSWERED;
	if (a->result == HTTP_ANSWERED &&
	    !curl.easy_getinfo(http->handle, CURLINFO_RETRY_AFTER, &after) && after > 0)
		a->retry_after_s =
			after < HTTP_RETRY_AFTER_S ? (uint64_t)after : HTTP_RETRY_AFTER_S;
	if (a->result != HTTP_ANSWERED && a->result != HTTP_STOPPED)
		err__set(&a->err, EIO, "'%.150s': %.200s; %s", t->request->url,
			 t->too_long	? "the answer is too long"
			 : *http->error ? http->error
					: curl.easy_strerror(code),
			 remedy_of(a->result));
}

void http__request(struct http *http, const struct http_settings *settings,
		   const struct http_request *request, struct http_answer *ret)
{
	struct transfer t = { .request = request, .answer = ret };
	struct curl_slist *headers = headers_of(request);

	strbuf__reset(&ret->body);
	*ret = (struct http_answer){ .result = HTTP_AWAY, .body = ret->body };
	if (!headers) {
		err__set(&ret->err, ENOMEM, "out of memory");
		return;
	}
	curl.easy_reset(http->handle);
	http->error[0] = '\0';
	curl.easy_setopt(http->handle, CURLOPT_ERRORBUFFER, http->error);
	set_connection(http->handle, settings);
	set_request(http->handle, &t, headers);
	if (set_secrets(http, settings, &ret->err))
		ret->result = HTTP_UNTRUSTED;
	else
		finish(http, curl.easy_perform(http->handle), &t);
	curl.slist_free_all(headers);
}

#else

int http__new(struct http **ret, struct err *err)
{
	return err__set(err, ENOSYS,
			"this build has no HTTP client: records are not sent; use one built with "
			"libcurl4-gnutls-dev, and 'jankbpf send' on the spool");
}

void http__free(struct http *http)
{
}

void http__request(struct http *http, const struct http_settings *settings,
		   const struct http_request *request, struct http_answer *ret)
{
	ret->result = HTTP_AWAY;
}

#endif
