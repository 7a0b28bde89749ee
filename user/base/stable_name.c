/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/stable_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/*
 * Any program chooses its names: every scan is linear, and a name of unknown form stays as it is.
 */

#define RUST_HASH_LEN 19 /* "::h" and 16 digits */

/*
 * Cuts ".cold", ".constprop.0" and similar at the end. Other dots are part of the name, for example
 * in Go.
 */
static size_t cut_suffix(const char *function, size_t len)
{
	static const char *const words[] = { "constprop", "isra",     "part",	    "cold",
					     "clone",	  "lto_priv", "localalias", "llvm" };
	size_t end = len, begin;

	while (end && function[end - 1] >= '0' && function[end - 1] <= '9')
		end--;
	end = end < len && end && function[end - 1] == '.' ? end - 1 : len;
	for (begin = end; begin && function[begin - 1] != '.';)
		begin--;
	for (size_t i = 0; begin > 1 && i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == end - begin &&
		    !memcmp(words[i], function + begin, end - begin))
			return begin - 1;
	return len;
}

static size_t cut_rust_hash(const char *function, size_t len)
{
	const char *hash = function + len - RUST_HASH_LEN;

	if (len <= RUST_HASH_LEN || memcmp(hash, "::h", 3))
		return len;
	for (size_t i = 3; i < RUST_HASH_LEN; i++)
		if (!isxdigit((unsigned char)hash[i]) || isupper((unsigned char)hash[i]))
			return len;
	return len - RUST_HASH_LEN;
}

/* Compilers add suffixes that differ between builds; demanglers show them as "[clone .isra.0]". */
static size_t stable_len(const char *function)
{
	const char *clone = strstr(function, " [clone ");
	size_t len = clone && clone > function ? (size_t)(clone - function) : strlen(function);

	for (size_t cut; (cut = cut_suffix(function, len)) < len;)
		len = cut;
	return cut_rust_hash(function, len);
}

/* Skips V8's kind and tier in "JS:*f /x/y.js:1:2". */
static const char *skip_tier(const char *function)
{
	static const char *const kinds[] = { "LazyCompile:", "Function:", "Script:", "Eval:",
					     "JS:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i]);

		if (!strncmp(function, kinds[i], len) && function[len])
			return function + len + strspn(function + len, "~*^+");
	}
	return function;
}

/*
 * The start of a script's path in a JIT symbol ("f /x/y.js:1:2", "py::f:/x/y.py", "f
 * file:///x/y.js:1"), or NULL.
 */
static const char *path_of(const char *name)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
		if (slash > name && (slash[-1] == ' ' || slash[-1] == ':'))
			return slash;
	return NULL;
}

/* Length without ":line:column" at the end. */
static size_t cut_line(const char *file)
{
	size_t len = strlen(file), end;

	for (end = len; end && isdigit((unsigned char)file[end - 1]);)
		end--;
	if (end == len || !end || file[end - 1] != ':')
		return len;
	len = --end;
	while (end && isdigit((unsigned char)file[end - 1]))
		end--;
	return end < len && end && file[end - 1] == ':' ? end - 1 : len;
}

void stable_name__add_function(struct strbuf *sb, const char *function)
{
	const char *name = skip_tier(function), *path = path_of(name);

	if (path) {
		const char *file = text__base_name(path);

		strbuf__add(sb, name, path - name);
		strbuf__add(sb, file, cut_line(file));
		return;
	}
	strbuf__add(sb, name, stable_len(name));
}

/* --- units */

#define RANDOM_LEN 32 /* hexadecimal digits of an id or a UUID; a container's has 64 */

/*
 * What systemd-run calls a unit without a name ("run-u12", "run-p12-i34", "run-r<id>"), and logind
 * a session of its own ("session-c1").
 */
static size_t cut_made(const char *unit, size_t len)
{
	size_t end = !strncmp(unit, "run-", 4) && len > 5 && strchr("upr", unit[4]) ? 5 : 0;

	if (!end)
		end = !strncmp(unit, "session-c", 9) && len > 9 ? 9 : 0;
	for (size_t i = end; end && i < len; i++)
		if (!isxdigit((unsigned char)unit[i]) && unit[i] != '-' && unit[i] != 'i')
			return len;
	return end ? strcspn(unit, "-") : len;
}

/*
 * Cuts a number behind a dash, or an id behind a dash or '@'. A service keeps the number: its
 * administrator may number instances. A scope is always made by a program.
 */
static size_t cut_number(const char *unit, size_t len, bool is_scope)
{
	size_t hex = 0, digits = 0, ret = len;

	for (size_t at = len; at-- > 1;) {
		bool is_number = is_scope && unit[at] == '-' && digits && digits == len - at - 1;

		if ((unit[at] == '-' || unit[at] == '@') && (is_number || hex >= RANDOM_LEN))
			ret = at;
		if (!isxdigit((unsigned char)unit[at]) && unit[at] != '-')
			break;
		hex += unit[at] != '-';
		digits += isdigit((unsigned char)unit[at]) != 0;
	}
	return ret;
}

void stable_name__add_unit(struct strbuf *sb, const char *unit)
{
	const char *suffix = strrchr(unit, '.');
	bool is_scope = suffix && !strcmp(suffix, ".scope");
	size_t len;

	if (!is_scope && (!suffix || strcmp(suffix, ".service") != 0)) {
		strbuf__adds(sb, unit);
		return;
	}
	len = cut_made(unit, (size_t)(suffix - unit));
	strbuf__add(sb, unit, cut_number(unit, len, is_scope));
	strbuf__adds(sb, suffix);
}
