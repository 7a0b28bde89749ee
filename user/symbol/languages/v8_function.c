/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of a function. Its SharedFunctionInfo has a String, or a ScopeInfo: some numbers, the
 * names and kinds of variables that closures use, and then the function's name, the name that the
 * parser inferred ("exports.handler"), its range in the source before V8 12.8, and the ScopeInfo
 * around it (objects/scope-info.tq).
 */
#include <stdio.h>
#include <string.h>

#include "symbol/languages/v8.h"

#define LOCALS_INLINE                                                                              \
	75 /* with more, the names are in a table (kScopeInfoMaxInlinedLocalNamesSize) */
#define LOCALS_MAX 4096
#define OUTER_MAX  16		/* scopes around a function without a name */
#define TEXT_MAX   (14u * 4096) /* characters between two functions that are read */
#define TEXT_SZ	   512		/* at once */
#define BEFORE_SZ  160		/* characters before a function */

struct scope {
	uint64_t name, inferred; /* strings; 0: none */
	uint64_t outer;		 /* ScopeInfo; 0: none */
	uint64_t begin;		 /* of its range in the source, a small integer: its parameters */
	bool broken;		 /* what should be a name is no object */
};

static uint64_t scope_word(struct v8 *v8, uint64_t scope, uint32_t index)
{
	return v8__word(v8, scope - 1 + 8 * (1 + (uint64_t)index));
}

/* The names of few variables are in the scope itself: then the first one is a string. */
static uint32_t behind_locals(struct v8 *v8, uint64_t scope)
{
	uint32_t at = v8->layout->at[V8_SCOPE_LOCALS];
	uint64_t word = scope_word(v8, scope, v8->layout->at[V8_SCOPE_LOCAL_CNT]);
	uint32_t cnt = v8__is_small(word) ? (uint32_t)v8__small(word) : 0;

	if (cnt > LOCALS_MAX)
		return 0;
	if (cnt >= LOCALS_INLINE && !v8__is_string(v8, scope_word(v8, scope, at)))
		return at + 1 + cnt;
	return at + 2 * cnt;
}

static uint64_t scope_object(struct v8 *v8, uint64_t scope, uint32_t index)
{
	return v8__moved(v8, scope_word(v8, scope, index));
}

static bool is_small_at(struct v8 *v8, uint64_t scope, uint32_t index)
{
	return v8__is_small(scope_word(v8, scope, index));
}

/* Returns false when it is no scope. */
static bool read_scope(struct v8 *v8, uint64_t object, struct scope *ret)
{
	bool range = !v8->layout->at[V8_SCOPE_RANGE];
	uint32_t at;
	uint64_t word;

	*ret = (struct scope){};
	if (!v8__is(v8, object, V8_TYPE_SCOPE, V8_TYPE_SCOPE))
		return false;
	at = behind_locals(v8, object);
	if (!at)
		return false;
	/* Of a class: where its variable is. */
	if (is_small_at(v8, object, at) && !is_small_at(v8, object, at + 1))
		at++;
	word = scope_object(v8, object, at);
	if (v8__is_string(v8, word) && is_small_at(v8, object, at + 1)) {
		ret->name = word;
		at += 2;
	}
	word = scope_object(v8, object, at);
	ret->broken = !v8__is_small(word) && !v8__is_object(v8, word);
	if (!v8__is_small(word) && !v8__is(v8, word, V8_TYPE_SCOPE, V8_TYPE_SCOPE)) {
		ret->inferred = v8__is_string(v8, word) ? word : 0;
		at++;
	}
	ret->begin = scope_word(v8, object, range ? at : (uint32_t)v8->layout->at[V8_SCOPE_RANGE]);
	word = scope_object(v8, object, at + 2 * range);
	ret->broken |= !v8__is_small(word) && !v8__is_object(v8, word);
	ret->outer = v8__is(v8, word, V8_TYPE_SCOPE, V8_TYPE_SCOPE) ? word : 0;
	return true;
}

/* --- the source around a function */

/* Reads characters; those beyond ASCII are 0x80. Returns false when they are not there. */
static bool read_source(struct v8 *v8, const struct v8_chars *chars, uint32_t from, uint32_t cnt,
			uint8_t *ret)
{
	uint8_t bytes[2 * TEXT_SZ];
	enum target_read res =
		target_memory__read(v8->reader->mem, chars->addr + (uint64_t)from * chars->width,
				    bytes, (size_t)cnt * chars->width);

	v8->reader->later |= res == TARGET_LATER;
	for (uint32_t i = 0; i < cnt; i++) {
		bool ascii =
			bytes[i * chars->width] < 0x80 && (chars->width == 1 || !bytes[2 * i + 1]);

		ret[i] = ascii ? bytes[i * chars->width] : 0x80;
	}
	return res != TARGET_NEVER;
}

static bool find_source(struct v8 *v8, uint64_t shared, struct v8_chars *ret)
{
	return v8__chars(v8, v8_script__source(v8, shared), ret);
}

static void cut_spaces(const char *text, size_t *len)
{
	while (*len && strchr(" \t\r\n*", text[*len - 1]))
		--*len;
}

static void cut_word(const char *text, size_t *len, const char *word)
{
	size_t cut = strlen(word);

	cut_spaces(text, len);
	if (*len >= cut && !memcmp(text + *len - cut, word, cut))
		*len -= cut;
	cut_spaces(text, len);
}

/*
 * Returns true if the source assigns the function to the last part of its inferred name. V8 gives
 * functions in a list the names of variables in their neighbours.
 */
static bool is_assigned(struct v8 *v8, uint64_t shared, const struct scope *scope,
			const char *inferred)
{
	const char *dot = strrchr(inferred, '.'), *last = dot ? dot + 1 : inferred;
	uint32_t begin = v8__is_small(scope->begin) ? (uint32_t)v8__small(scope->begin) : 0;
	uint32_t cnt = begin < BEFORE_SZ ? begin : BEFORE_SZ;
	char text[BEFORE_SZ];
	struct v8_chars chars;
	size_t len = cnt, name = strlen(last);

	if (!*last || !find_source(v8, shared, &chars) || begin > chars.cnt ||
	    !read_source(v8, &chars, begin - cnt, cnt, (uint8_t *)text))
		return false;
	cut_word(text, &len, "function");
	cut_word(text, &len, "async");
	if (!len || text[len - 1] != '=')
		return false;
	len--;
	cut_spaces(text, &len);
	return len > name && !memcmp(text + len - name, last, name) &&
	       strchr(" \t\n.;,{(#", text[len - name - 1]);
}

/* "exports.handler" instead of "handler". */
static bool is_longer(const char *inferred, const char *name)
{
	size_t len = strlen(inferred), name_len = strlen(name);

	return len > name_len + 1 && inferred[len - name_len - 1] == '.' &&
	       !strcmp(inferred + len - name_len, name);
}

/* The name of a function in the script of another one. */
static bool own_name(struct v8 *v8, uint64_t shared, const struct scope *scope, char *buf,
		     size_t cap)
{
	char inferred[V8_NAME_MAX];

	v8__text(v8, scope->name, buf, cap);
	v8__text(v8, scope->inferred, inferred, sizeof(inferred));
	if (buf[0] ? is_longer(inferred, buf) : is_assigned(v8, shared, scope, inferred))
		snprintf(buf, cap, "%s", inferred);
	return buf[0];
}

/* --- functions without a name: by the number of functions before them in the one around them */

struct count {
	uint32_t found;
	uint8_t matched; /* characters of "function" */
	uint32_t last;
	bool is_open; /* behind that word are only spaces or '*': this function is its own */
};

static bool is_of_name(uint32_t c)
{
	return (c | 0x20) - 'a' < 26u || c - '0' < 10u || c == '_' || c == '$' || c >= 0x80;
}

/* Functions begin with "function", or have "=>"; so do some comments and texts. */
static void count_character(struct count *count, uint32_t c)
{
	static const char word[] = "function";
	bool next =
		c == (uint8_t)word[count->matched] && (count->matched || !is_of_name(count->last));

	count->is_open &= c == ' ' || c == '*' || c == '\n' || c == '\t';
	count->found += c == '>' && count->last == '=';
	count->matched = next ? count->matched + 1 : 0;
	if (count->matched == sizeof(word) - 1) {
		count->matched = 0;
		count->found++;
		count->is_open = true;
	}
	count->last = c;
}

/*
 * The number of a function among those in the one around it, in the order of the source, from 1. It
 * tells two functions apart, and stays when other functions of the file change. 0: not known.
 */
static uint32_t number_in(struct v8 *v8, uint64_t shared, uint64_t begin, uint64_t end)
{
	uint32_t from = (uint32_t)v8__small(begin), to = (uint32_t)v8__small(end);
	struct count count = {};
	struct v8_chars chars;
	uint8_t bytes[TEXT_SZ];

	if (!v8__is_small(begin) || !v8__is_small(end) || from > to || to - from > TEXT_MAX ||
	    !find_source(v8, shared, &chars) || to > chars.cnt)
		return 0;
	while (from < to) {
		uint32_t part = to - from < TEXT_SZ ? to - from : TEXT_SZ;

		if (!read_source(v8, &chars, from, part, bytes))
			return 0;
		for (uint32_t i = 0; i < part; i++)
			count_character(&count, bytes[i]);
		from += part;
	}
	return count.found + !count.is_open;
}

/*
 * "anonymous in main #2": the name of the next function around it that has one. Returns false when
 * that one's cannot be read.
 */
static bool name_anonymous(struct v8 *v8, uint64_t shared, const struct scope *own, char *buf,
			   size_t cap)
{
	uint64_t object = own->outer, from = 0;
	char name[V8_NAME_MAX - 32] = "";
	struct scope scope;
	uint32_t number;

	for (unsigned i = 0; i < OUTER_MAX && !name[0] && read_scope(v8, object, &scope); i++) {
		if (scope.broken)
			return false;
		if (own_name(v8, shared, &scope, name, sizeof(name)))
			from = scope.begin;
		object = scope.outer;
	}
	number = number_in(v8, shared, from, own->begin);
	snprintf(buf, cap, "anonymous%s%s", name[0] ? " in " : "", name);
	if (number)
		snprintf(buf + strlen(buf), cap - strlen(buf), " #%u", number);
	return true;
}

bool v8_function__name(struct v8 *v8, uint64_t shared, char *buf, size_t cap)
{
	uint64_t object = v8__moved(v8, v8__member(v8, shared, V8_SHARED_NAME));
	struct scope scope;

	buf[0] = '\0';
	if (v8__is_string(v8, object)) {
		v8__text(v8, object, buf, cap);
		return true;
	}
	if (!read_scope(v8, object, &scope))
		return v8__is_small(object);
	return !scope.broken && (own_name(v8, shared, &scope, buf, cap) ||
				 name_anonymous(v8, shared, &scope, buf, cap));
}

uint32_t v8_function__begin(struct v8 *v8, uint64_t shared)
{
	struct scope scope;

	if (!read_scope(v8, v8__moved(v8, v8__member(v8, shared, V8_SHARED_NAME)), &scope) ||
	    !v8__is_small(scope.begin))
		return 0;
	return (uint32_t)v8__small(scope.begin) + 1;
}
