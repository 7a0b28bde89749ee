/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streaming JSON writer. Output is compact and on one line, so that a record is a line of JSON
 * Lines.
 */
#include "export/json/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define DECIMALS_MAX 17

void jsonw__init(struct jsonw *w, struct strbuf *out)
{
	memset(w, 0, sizeof(*w));
	w->out = out;
}

static void member_comma(struct jsonw *w)
{
	if (w->has_member[w->depth - 1])
		strbuf__addc(w->out, ',');
	w->has_member[w->depth - 1] = true;
}

/* Call before each value. In an object, the key has already written the comma. */
static void value_begins(struct jsonw *w)
{
	if (!w->depth)
		return;
	if (w->is_object[w->depth - 1])
		assert(w->after_key && "a value in an object needs a key");
	else
		member_comma(w);
	w->after_key = false;
}

static void nest(struct jsonw *w, bool is_object)
{
	value_begins(w);
	assert(w->depth < JSONW_DEPTH_MAX && "nested too deep");
	w->is_object[w->depth] = is_object;
	w->has_member[w->depth] = false;
	w->depth++;
	strbuf__addc(w->out, is_object ? '{' : '[');
}

static void unnest(struct jsonw *w, bool is_object)
{
	assert(w->depth && w->is_object[w->depth - 1] == is_object && "unbalanced end");
	assert(!w->after_key && "a key without a value");
	w->depth--;
	strbuf__addc(w->out, is_object ? '}' : ']');
}

/* Adds a character that plain_part does not take. len: of its sequence; 0: it is not UTF-8. */
static void add_char(struct strbuf *sb, const char *s, size_t len)
{
	if (!len)
		strbuf__adds(sb, "\xef\xbf\xbd"); /* U+FFFD */
	else if (text__is_hidden(s, len)) /* an escape would be decoded, and shown by others */
		strbuf__addc(sb, '?');
	else if (*s == '"' || *s == '\\')
		strbuf__add(sb, *s == '"' ? "\\\"" : "\\\\", 2);
	else
		strbuf__add(sb, s, len);
}

/* Length of the text at s that needs no escape: nearly all of it. */
static size_t plain_part(const char *s)
{
	size_t len = 0;

	/* a char is unsigned on some machines */
	while (s[len] >= ' ' && s[len] < 0x7f && s[len] != '"' && s[len] != '\\')
		len++;
	return len;
}

static void add_string(struct strbuf *sb, const char *str)
{
	size_t left = strlen(str), len;

	strbuf__addc(sb, '"');
	while (left) {
		len = plain_part(str);
		strbuf__add(sb, str, len);
		str += len;
		left -= len;
		if (!left)
			break;
		len = text__utf8_len(str, left);
		add_char(sb, str, len);
		len += !len;
		str += len;
		left -= len;
	}
	strbuf__addc(sb, '"');
}

void jsonw__key(struct jsonw *w, const char *key)
{
	assert(w->depth && w->is_object[w->depth - 1] && "a key outside an object");
	assert(!w->after_key && "two keys in a row");
	member_comma(w);
	add_string(w->out, key);
	strbuf__addc(w->out, ':');
	w->after_key = true;
}

void jsonw__object(struct jsonw *w)
{
	nest(w, true);
}

void jsonw__object_end(struct jsonw *w)
{
	unnest(w, true);
}

void jsonw__array(struct jsonw *w)
{
	nest(w, false);
}

void jsonw__array_end(struct jsonw *w)
{
	unnest(w, false);
}

void jsonw__str(struct jsonw *w, const char *str)
{
	value_begins(w);
	if (str)
		add_string(w->out, str);
	else
		strbuf__adds(w->out, "null");
}

void jsonw__u64(struct jsonw *w, uint64_t v)
{
	char digits[20]; /* of UINT64_MAX */
	size_t at = sizeof(digits);

	value_begins(w);
	do /* records and reports are mostly numbers, and printf takes three times as long */
		digits[--at] = (char)('0' + v % 10);
	while (v /= 10);
	strbuf__add(w->out, digits + at, sizeof(digits) - at);
}

void jsonw__i64(struct jsonw *w, int64_t v)
{
	value_begins(w);
	strbuf__addf(w->out, "%" PRId64, v);
}

void jsonw__fixed(struct jsonw *w, double v, int decimals)
{
	char buf[512]; /* the largest double has 309 digits before the point */
	size_t digits;

	value_begins(w);
	if (!isfinite(v)) {
		strbuf__adds(w->out, "null");
		return;
	}
	decimals = decimals < 0 ? 0 : decimals > DECIMALS_MAX ? DECIMALS_MAX : decimals;
	snprintf(buf, sizeof(buf), "%.*f", decimals, v);
	/* The locale's decimal point may differ from JSON's. */
	digits = strspn(buf, "-0123456789");
	strbuf__add(w->out, buf, digits);
	if (buf[digits])
		strbuf__addf(w->out, ".%s", buf + digits + strcspn(buf + digits, "0123456789"));
}

void jsonw__bool(struct jsonw *w, bool v)
{
	value_begins(w);
	strbuf__adds(w->out, v ? "true" : "false");
}

void jsonw__kstr(struct jsonw *w, const char *key, const char *str)
{
	jsonw__key(w, key);
	jsonw__str(w, str);
}

void jsonw__kstr_known(struct jsonw *w, const char *key, const char *str)
{
	if (str)
		jsonw__kstr(w, key, str);
}

void jsonw__ku64(struct jsonw *w, const char *key, uint64_t v)
{
	jsonw__key(w, key);
	jsonw__u64(w, v);
}

void jsonw__kbool(struct jsonw *w, const char *key, bool v)
{
	jsonw__key(w, key);
	jsonw__bool(w, v);
}

void jsonw__karray(struct jsonw *w, const char *key)
{
	jsonw__key(w, key);
	jsonw__array(w);
}
