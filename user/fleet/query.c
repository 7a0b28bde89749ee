/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/query.h"
#include "fleet/fleet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define ANSWER_MAX (256u << 20)
#define REASON_MAX 200 /* bytes of a server's message that are shown */

#define CODE_TIMEOUT 159 /* TIMEOUT_EXCEEDED */

static const struct {
	const char *name, *text;
} queries[] = {
#include "fleet_queries.inc"
};

/* --- the question */

void literal__add(struct strbuf *sb, const char *text)
{
	strbuf__addc(sb, '\'');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '\'' || c == '\\')
			strbuf__addc(sb, '\\');
		if (c < ' ')
			strbuf__addf(sb, "\\x%02X", c);
		else
			strbuf__addc(sb, *text);
	}
	strbuf__addc(sb, '\'');
}

void literal__add_to_list(struct strbuf *list, const char *text)
{
	strbuf__adds(list, list->len ? ", " : "");
	literal__add(list, text);
}

void number__add_to_list(struct strbuf *list, const char *digits)
{
	if (!*digits || digits[strspn(digits, "0123456789")])
		return;
	strbuf__adds(list, list->len ? ", " : "");
	strbuf__adds(list, digits);
}

static const struct fleet_value *find_value(const struct fleet_value *values, size_t cnt,
					    const char *name, size_t len)
{
	for (size_t i = 0; i < cnt; i++)
		if (strlen(values[i].name) == len && !strncmp(values[i].name, name, len))
			return &values[i];
	return NULL;
}

static void add_value(struct strbuf *sb, const struct fleet_value *value)
{
	if (value->raw)
		strbuf__adds(sb, value->raw);
	else if (value->text)
		literal__add(sb, value->text);
	else
		strbuf__addf(sb, "%llu", (unsigned long long)value->number);
}

/* The text has no literal with {, and no -- outside a comment. */
static int fill(struct strbuf *sb, const char *text, const struct fleet_value *values, size_t cnt)
{
	while (*text) {
		size_t len = strcspn(text, "{-");

		strbuf__add(sb, text, len);
		text += len;
		if (*text == '{') {
			size_t name_len = strcspn(text + 1, "}");
			const struct fleet_value *value =
				find_value(values, cnt, text + 1, name_len);

			if (!value)
				return -EINVAL;
			add_value(sb, value);
			text += name_len + 2;
		} else if (!strncmp(text, "--", 2)) {
			text += strcspn(text, "\n");
		} else if (*text) {
			strbuf__addc(sb, *text++);
		}
	}
	return sb->failed ? -ENOMEM : 0;
}

int query__add(struct strbuf *sb, const char *name, const struct fleet_value *values,
	       size_t value_cnt)
{
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++)
		if (!strcmp(queries[i].name, name))
			return fill(sb, queries[i].text, values, value_cnt);
	return -EINVAL;
}

int fleet_filter__add(struct fleet_filter *filter, const char *column, const char *value)
{
	struct strbuf sb = STRBUF_INIT;

	if (!value || !*value)
		return 0;
	strbuf__addf(&sb, "%s AND %s = ", filter->conditions ?: "", column);
	if (!strcmp(column, "version_key")) {
		strbuf__adds(&sb, "cityHash64(");
		literal__add(&sb, value);
		strbuf__addc(&sb, ')');
	} else {
		literal__add(&sb, value);
	}
	if (sb.failed) {
		strbuf__free(&sb);
		return -ENOMEM;
	}
	free(filter->conditions);
	filter->conditions = sb.data;
	return 0;
}

/* --- the answer */

const char *row__str(const json_t *row, const char *name)
{
	return json_string_value(json_object_get(row, name)) ?: "";
}

/* 64-bit numbers are quoted, others are not. */
uint64_t value__u64(const json_t *value)
{
	if (json_is_string(value))
		return strtoull(json_string_value(value), NULL, 10);
	return json_is_integer(value) && json_integer_value(value) > 0
		       ? (uint64_t)json_integer_value(value)
		       : 0;
}

uint64_t row__u64(const json_t *row, const char *name)
{
	return value__u64(json_object_get(row, name));
}

int fleet__too_many(struct err *err, unsigned max, const char *what)
{
	return err__set(err, E2BIG,
			"more than %u %s: ask about less time by --since and --until, or about one "
			"--unit or --process",
			max, what);
}

/* What a server says: its first line, safe for a terminal. */
static void add_reason(struct strbuf *sb, const struct strbuf *body)
{
	char text[REASON_MAX + 1];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(strbuf__str(body), "\n"),
		 strbuf__str(body));
	text__add_clean(sb, text);
}

/* The number of "Code: 60, e.displayText() = …"; 0: another text. */
static unsigned code_of(const struct strbuf *body)
{
	const char *at = strstr(strbuf__str(body), "Code: ");

	return at ? (unsigned)strtoul(at + strlen("Code: "), NULL, 10) : 0;
}

/* By the numbers of ClickHouse's ErrorCodes.cpp. */
static const char *remedy_of(unsigned code, long status)
{
	switch (code) {
	case 60: /* UNKNOWN_TABLE */
	case 81: /* UNKNOWN_DATABASE */
		return "create the tables by deploy/clickhouse/schema.sql, or give the database "
		       "by --clickhouse-database";
	case 16: /* NO_SUCH_COLUMN_IN_TABLE */
	case 47: /* UNKNOWN_IDENTIFIER */
		return "its tables are older than this program: compare them with "
		       "deploy/clickhouse/schema.sql";
	case 192: /* UNKNOWN_USER */
	case 193: /* WRONG_PASSWORD */
	case 194: /* REQUIRED_PASSWORD */
	case 497: /* ACCESS_DENIED */
	case 516: /* AUTHENTICATION_FAILED */
		return "give --clickhouse-user and --clickhouse-password-file of a user that may "
		       "read the database";
	case CODE_TIMEOUT:
	case 241: /* MEMORY_LIMIT_EXCEEDED */
		return "ask about less time by --since and --until, or about one --unit";
	case 170: /* BAD_GET: no such cluster */
	case 279: /* ALL_CONNECTION_TRIES_FAILED */
		return "look at the cluster jankbpf in remote_servers of its configuration, and "
		       "at its replicas";
	default:
		return status == 401 || status == 403
			       ? "give --clickhouse-user and --clickhouse-password-file"
			       : "is this the HTTP port of ClickHouse?";
	}
}

static int refuse(const struct http_answer *answer, const char *url, struct err *err)
{
	struct strbuf reason = STRBUF_INIT;
	unsigned code = code_of(&answer->body);
	int res;

	add_reason(&reason, &answer->body);
	res = err__set(err, code == CODE_TIMEOUT ? ETIMEDOUT : EPROTO,
		       "'%.100s': status %ld: %s; %s", url, answer->status, strbuf__str(&reason),
		       remedy_of(code, answer->status));
	strbuf__free(&reason);
	return res;
}

/* The client's reason, without the whole URL. */
static int say_away(const struct http_answer *answer, const char *url, struct err *err)
{
	const char *reason = strstr(answer->err.msg, "': ");

	reason = reason ? reason + strlen("': ") : answer->err.msg;
	return err__set(err, EAGAIN,
			"'%.100s': %.*s; check --clickhouse-url, and that the server runs", url,
			(int)strcspn(reason, ";"), reason);
}

static int take_rows(const struct strbuf *body, const char *url, fleet_row_fn *take, void *ctx,
		     struct err *err)
{
	const char *at = strbuf__str(body), *end = at + body->len;
	int res = 0;

	while (take && at < end && !res) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)) ?: end;
		json_t *row = json_loadb(at, (size_t)(stop - at), 0, NULL);

		if (json_is_object(row))
			res = take(ctx, row, err);
		else
			res = err__set(err, EBADMSG,
				       "'%.100s': the answer is not one of ClickHouse: give its "
				       "HTTP port, 8123 by default",
				       url);
		json_decref(row);
		at = stop + 1;
	}
	return res;
}

/* --- a request */

static int add_url(struct strbuf *sb, const struct fleet *fleet, const char *url, size_t len)
{
	while (len && url[len - 1] == '/')
		len--;
	strbuf__add(sb, url, len);
	strbuf__adds(sb, "/?wait_end_of_query=1&output_format_json_quote_64bit_integers=1&"
			 "max_query_size=16777216&max_ast_elements=1000000&");
	if (fleet->ddl_timeout_s)
		strbuf__addf(sb, "distributed_ddl_task_timeout=%u&", fleet->ddl_timeout_s);
	strbuf__adds(sb, "database=");
	for (const char *c = fleet->database; *c; c++)
		strbuf__addf(sb, "%%%02X", (unsigned char)*c);
	return sb->failed ? -ENOMEM : 0;
}

/* 0; -EAGAIN: this server is away, with a message; another -errno. */
static int ask_one(struct fleet *fleet, const char *url, size_t len, const struct strbuf *question,
		   fleet_row_fn *take, void *ctx, struct err *err)
{
	struct strbuf where = STRBUF_INIT;
	struct http_answer answer = {};
	const struct http_request request = {
		.content_type = "text/plain; charset=utf-8",
		.body = question->data,
		.body_len = question->len,
		.answer_max = ANSWER_MAX,
	};
	struct http_request sent = request;
	char shown[128];
	int res = add_url(&where, fleet, url, len);

	snprintf(shown, sizeof(shown), "%.*s", (int)len, url);
	sent.url = strbuf__str(&where);
	if (!res)
		http__request(fleet->http, &fleet->settings, &sent, &answer);
	if (res)
		err__set(err, ENOMEM, "out of memory");
	else if (answer.result == HTTP_AWAY)
		res = say_away(&answer, shown, err);
	else if (answer.result != HTTP_ANSWERED)
		res = err__set(err, EPROTO, "%s", answer.err.msg);
	else if (answer.status != 200)
		res = refuse(&answer, shown, err);
	else
		res = take_rows(&answer.body, shown, take, ctx, err);
	strbuf__free(&answer.body);
	strbuf__free(&where);
	return res;
}

/* The next URL of a list with blanks; NULL: there is no more. */
static const char *next_url(const char *at, size_t *ret_len)
{
	at += strspn(at, " ");
	*ret_len = strcspn(at, " ");
	return *ret_len ? at : NULL;
}

int fleet__ask(struct fleet *fleet, const char *name, const struct fleet_value *values,
	       size_t value_cnt, fleet_row_fn *take, void *ctx, struct err *err)
{
	struct strbuf question = STRBUF_INIT;
	int res = query__add(&question, name, values, value_cnt);

	strbuf__adds(&question, take ? "\nFORMAT JSONEachRow\n" : "");
	if (res || question.failed) {
		strbuf__free(&question);
		return err__set(err, -res ?: ENOMEM, "cannot ask '%s': %s", name,
				strerror(-res ?: ENOMEM));
	}
	res = err__set(err, EINVAL, "no server to ask: give --clickhouse-url");
	for (size_t i = 0; i < fleet->url_cnt && (!i || res == -EAGAIN); i++) {
		const char *url = fleet->urls[i];
		size_t len;

		while ((url = next_url(url, &len))) {
			res = ask_one(fleet, url, len, &question, take, ctx, err);
			if (res != -EAGAIN)
				break;
			url += len;
		}
	}
	strbuf__free(&question);
	if (!res && err)
		err->msg[0] = '\0'; /* of a server that was away */
	return res;
}
