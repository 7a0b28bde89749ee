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
#define OUTER_MAX  16 /* scopes around a function without a name */

struct scope {
	uint64_t name, inferred; /* strings; 0: none */
	uint64_t outer;		 /* ScopeInfo; 0: none */
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
	word = scope_word(v8, object, at);
	if (v8__is_string(v8, word) && is_small_at(v8, object, at + 1)) {
		ret->name = word;
		at += 2;
	}
	word = scope_word(v8, object, at);
	if (!v8__is_small(word) && !v8__is(v8, word, V8_TYPE_SCOPE, V8_TYPE_SCOPE)) {
		ret->inferred = v8__is_string(v8, word) ? word : 0;
		at++;
	}
	word = scope_word(v8, object, at + 2 * range);
	ret->outer = v8__is(v8, word, V8_TYPE_SCOPE, V8_TYPE_SCOPE) ? word : 0;
	return true;
}

/* "exports.handler" instead of "handler". */
static bool is_longer(const char *inferred, const char *name)
{
	size_t len = strlen(inferred), name_len = strlen(name);

	return len > name_len + 1 && inferred[len - name_len - 1] == '.' &&
	       !strcmp(inferred + len - name_len, name);
}

static bool own_name(struct v8 *v8, const struct scope *scope, char *buf, size_t cap)
{
	char inferred[V8_NAME_MAX];

	v8__text(v8, scope->name, buf, cap);
	v8__text(v8, scope->inferred, inferred, sizeof(inferred));
	if (!buf[0] || is_longer(inferred, buf))
		snprintf(buf, cap, "%s", inferred);
	return buf[0];
}

/* "anonymous in main": the name of the next function around it that has one. */
static void add_outer(struct v8 *v8, uint64_t object, char *buf, size_t cap)
{
	char name[V8_NAME_MAX];
	struct scope scope;

	for (unsigned i = 0; i < OUTER_MAX && object && read_scope(v8, object, &scope); i++) {
		if (own_name(v8, &scope, name, sizeof(name))) {
			snprintf(buf, cap, "anonymous in %s", name);
			return;
		}
		object = scope.outer;
	}
	snprintf(buf, cap, "anonymous");
}

void v8_function__name(struct v8 *v8, uint64_t shared, char *buf, size_t cap)
{
	uint64_t object = v8__member(v8, shared, V8_SHARED_NAME);
	struct scope scope;

	buf[0] = '\0';
	if (v8__is_string(v8, object)) {
		v8__text(v8, object, buf, cap);
		return;
	}
	if (read_scope(v8, object, &scope) && !own_name(v8, &scope, buf, cap))
		add_outer(v8, scope.outer, buf, cap);
}
