/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request: to each replica, again after a while, and what is said about it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "send/uploader.h"

#define ANSWER_MAX (64u << 10)
/*
 * A request to which the server answers 500 is refused after a day and so many attempts. ClickHouse
 * answers so while a table is read-only (ZooKeeper is away) or has too many parts, but also to a
 * batch that it cannot take. By time: Retry-After decides how many attempts a day has.
 */
#define FAULT_NS   (24 * 3600 * NS_PER_SEC)
#define FAULTS_MIN 20
#define SLOW_MAX   3 /* timeouts in a row; then the request is divided */
#define QUOTE_MAX  160

enum outcome outcome__of(const struct http_answer *answer)
{
	switch (answer->result) {
	case HTTP_AWAY:
		return answer->timed_out ? OUTCOME_SLOW : OUTCOME_AGAIN;
	case HTTP_UNTRUSTED:
		return OUTCOME_USER;
	case HTTP_WRONG:
		return OUTCOME_FAULT;
	case HTTP_STOPPED:
		return OUTCOME_STOPPED;
	case HTTP_ANSWERED:
		break;
	}
	switch (answer->status) {
	case 413:
		return OUTCOME_SPLIT;
	case 408:
	case 425:
	case 429:
	case 502:
	case 503:
		return OUTCOME_AGAIN;
	case 504:
		return OUTCOME_SLOW;
	case 401:
	case 403:
	case 404:
	case 405:
	case 407:
		return OUTCOME_USER;
	}
	if (answer->status >= 200 && answer->status < 300)
		return OUTCOME_DONE;
	if (answer->status >= 300 && answer->status < 400)
		return OUTCOME_USER;
	return answer->status >= 500 ? OUTCOME_FAULT : OUTCOME_REFUSED;
}

/* --- messages */

static const char *remedy_of(long status)
{
	if (status >= 300 && status < 400)
		return "a redirect is not followed: give the URL to which it leads";
	switch (status) {
	case 401:
	case 403:
		return "check user and password-file, or token-file";
	case 404:
	case 405:
		return "check the URL, and that the backend has its tables or receiver";
	case 407:
		return "check proxy";
	}
	return "it is tried again";
}

/* The first line of a body, for a message. */
static void add_quote(struct strbuf *sb, const struct strbuf *body)
{
	char line[QUOTE_MAX + 1] = "";
	size_t len = strcspn(strbuf__str(body), "\r\n");

	if (!len)
		return;
	if (len > QUOTE_MAX)
		len = QUOTE_MAX;
	memcpy(line, body->data, len);
	line[len] = '\0';
	strbuf__adds(sb, " (");
	text__add_clean(sb, line);
	strbuf__addc(sb, ')');
}

static void describe(struct strbuf *sb, const char *url, const struct http_answer *answer)
{
	if (answer->result != HTTP_ANSWERED) {
		strbuf__adds(sb, answer->err.msg);
		return;
	}
	strbuf__addf(sb, "'%.150s' answered %ld", url, answer->status);
	add_quote(sb, &answer->body);
}

/* Once for each kind of problem, until a request succeeds. */
static void report(struct uploader *uploader, const char *url, const struct request *request,
		   const struct http_answer *answer)
{
	long kind = answer->result * 1000l + answer->status + 1;
	struct strbuf sb = STRBUF_INIT;

	if (uploader->reported == kind || uploader->stop_ns)
		return;
	uploader->reported = kind;
	describe(&sb, url, answer);
	if (answer->result == HTTP_ANSWERED)
		strbuf__addf(&sb, "; %s", remedy_of(answer->status));
	if ((answer->status == 404 || answer->status == 405) && uploader->backend->parts_key)
		strbuf__addf(&sb, "; if it has no '%s', leave that out by %s in [%s]",
			     strbuf__str(&request->path), uploader->backend->parts_key,
			     uploader->backend->name);
	log__warn("%s: records wait in the spool: %s", uploader->backend->name, strbuf__str(&sb));
	strbuf__free(&sb);
}

static void report_refusal(struct uploader *uploader, const char *url,
			   const struct http_answer *answer, const char *why)
{
	struct strbuf sb = STRBUF_INIT;

	if (uploader->refusal_reported)
		return;
	uploader->refusal_reported = true;
	describe(&sb, url, answer);
	log__warn("%s: records were refused, and are counted as such: %s%s%s; does the backend fit "
		  "this version of jankbpf?",
		  uploader->backend->name, strbuf__str(&sb), *why ? ": " : "", why);
	strbuf__free(&sb);
}

static void report_warning(struct uploader *uploader, const char *warning)
{
	if (!uploader->warning_reported)
		log__warn("%s: %s", uploader->backend->name, warning);
	uploader->warning_reported = true;
}

static void report_faults(struct uploader *uploader)
{
	if (!uploader->refusal_reported)
		log__warn("%s: the backend failed at the same records for a day: they are counted "
			  "as refused; see its log",
			  uploader->backend->name);
	uploader->refusal_reported = true;
}

static void report_success(struct uploader *uploader)
{
	if (uploader->reported)
		log__info("%s: records are delivered again", uploader->backend->name);
	uploader->reported = 0;
	uploader->backoff.failures = 0;
}

/* --- requests */

/* An answer that says nothing about the batch counts as one that is not HTTP. */
static enum outcome doubt(const char *url, struct http_answer *answer, const char *why)
{
	struct strbuf sb = STRBUF_INIT;

	describe(&sb, url, answer);
	err__set(&answer->err, EBADMSG, "%s: %s", strbuf__str(&sb), why);
	strbuf__free(&sb);
	answer->result = HTTP_WRONG;
	return OUTCOME_FAULT;
}

/* Looks at the body of an answer. */
static enum outcome check(struct uploader *uploader, const char *url, const struct request *request,
			  struct http_answer *answer, uint64_t *refused)
{
	uint64_t rejected = 0;
	struct err why = {};

	if (answer->has_error)
		return doubt(url, answer, "the server failed after it sent this status");
	if (answer->status != 200 || !uploader->backend->check)
		return OUTCOME_DONE;
	if (uploader->backend->check(request->part, strbuf__str(&answer->body), answer->body.len,
				     &rejected, &why))
		return doubt(url, answer, why.msg[0] ? why.msg : "not an answer of such a backend");
	if (rejected)
		report_refusal(uploader, url, answer, why.msg);
	else if (*why.msg)
		report_warning(uploader, why.msg);
	*refused += rejected;
	return OUTCOME_DONE;
}

/*
 * OTLP's signals in development have such paths, and many receivers lack them. Records that waited
 * for one would keep back all others.
 */
static bool is_absent(const struct request *request, const struct http_answer *answer)
{
	return answer->result == HTTP_ANSWERED &&
	       (answer->status == 404 || answer->status == 501) &&
	       strstr(strbuf__str(&request->path), "/v1development/");
}

static void report_absence(struct uploader *uploader, const struct request *request)
{
	if (!uploader->absence_reported)
		log__info("%s: the receiver has no %s: that part is not sent to it",
			  uploader->backend->name, strbuf__str(&request->path));
	uploader->absence_reported = true;
}

static bool is_over(void *ctx)
{
	return uploader__is_over(ctx);
}

static enum outcome ask(struct uploader *uploader, const char *url, const struct request *request,
			struct http_answer *answer, uint64_t *refused)
{
	const struct backend_options *from = uploader->settings;
	const struct http_settings settings = {
		.user = from->user,
		.password_file = from->password_file,
		.token_file = from->token_file,
		.ca_file = from->ca_file,
		.cert_file = from->cert_file,
		.key_file = from->key_file,
		.proxy = from->proxy,
		.timeout_ns = from->timeout_ns,
	};
	struct strbuf whole = STRBUF_INIT;
	struct http_request http = { .content_type = uploader->backend->content_type,
				     .content_encoding = request->encoding,
				     .body = request->body.data,
				     .body_len = request->body.len,
				     .answer_max = ANSWER_MAX,
				     .error_header = uploader->backend->error_header,
				     .stops = is_over,
				     .ctx = uploader };
	enum outcome ret;

	strbuf__addf(&whole, "%s%s", url, strbuf__str(&request->path));
	http.url = strbuf__str(&whole);
	if (whole.failed)
		return OUTCOME_AGAIN;
	http__request(uploader->http, &settings, &http, answer);
	strbuf__free(&whole);
	if (is_absent(request, answer)) {
		report_absence(uploader, request);
		return OUTCOME_ABSENT;
	}
	ret = outcome__of(answer);
	if (ret == OUTCOME_REFUSED)
		report_refusal(uploader, url, answer, "");
	return ret == OUTCOME_DONE ? check(uploader, url, request, answer, refused) : ret;
}

/* What a round over all replicas means: a refusal holds only if all of them say so. */
static enum outcome worst(enum outcome a, enum outcome b)
{
	static const enum outcome order[] = { OUTCOME_SLOW, OUTCOME_AGAIN, OUTCOME_USER,
					      OUTCOME_FAULT };

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return b;
}

static enum outcome ask_replicas(struct uploader *uploader, const struct request *request,
				 uint64_t *ret_after_s, uint64_t *refused)
{
	struct http_answer answer = {};
	enum outcome ret = OUTCOME_REFUSED;

	*ret_after_s = 0;
	for (unsigned i = 0; i < uploader->target.cnt; i++) {
		const char *url = uploader->target.urls[uploader->target.current];
		enum outcome one = ask(uploader, url, request, &answer, refused);

		if (one == OUTCOME_DONE || one == OUTCOME_SPLIT || one == OUTCOME_ABSENT ||
		    one == OUTCOME_STOPPED) {
			ret = one;
			break;
		}
		if (one != OUTCOME_REFUSED)
			report(uploader, url, request, &answer);
		if (answer.retry_after_s > *ret_after_s)
			*ret_after_s = answer.retry_after_s;
		ret = worst(ret, one);
		uploader->target.current = (uploader->target.current + 1) % uploader->target.cnt;
	}
	strbuf__free(&answer.body);
	return ret;
}

bool faults__are_final(const struct faults *faults, uint64_t now_ns)
{
	return faults->cnt >= FAULTS_MIN && now_ns - faults->first_ns >= FAULT_NS;
}

/* True: the request is given up. */
static bool add_fault(struct uploader *uploader, struct faults *faults)
{
	uint64_t now = clock__mono_ns();

	if (!faults->cnt++)
		faults->first_ns = now;
	if (!faults__are_final(faults, now))
		return false;
	report_faults(uploader);
	return true;
}

enum outcome attempt__send(struct uploader *uploader, const struct request *request, bool divisible,
			   uint64_t *refused)
{
	unsigned slow = 0;

	for (struct faults faults = {};;) {
		uint64_t after_s;
		enum outcome outcome = ask_replicas(uploader, request, &after_s, refused);

		switch (outcome) {
		case OUTCOME_DONE:
			report_success(uploader);
			return outcome;
		case OUTCOME_SPLIT:
		case OUTCOME_ABSENT:
		case OUTCOME_REFUSED:
			uploader->backoff.failures = 0;
			return outcome;
		case OUTCOME_STOPPED:
			return outcome;
		case OUTCOME_FAULT:
			if (add_fault(uploader, &faults))
				return OUTCOME_REFUSED;
			break;
		case OUTCOME_AGAIN:
		case OUTCOME_SLOW:
		case OUTCOME_USER:
			break;
		}
		/* What takes longer than the timeout never ends; half of it may. */
		slow = outcome == OUTCOME_SLOW ? slow + 1 : 0;
		if (divisible && slow == SLOW_MAX)
			return OUTCOME_SPLIT;
		uploader->position.retries++;
		spool_dir__write_position(uploader->dirfd, uploader->backend->name,
					  &uploader->position);
		if (uploader__wait(uploader, backoff__next_ms(&uploader->backoff, after_s)))
			return OUTCOME_STOPPED;
	}
}
