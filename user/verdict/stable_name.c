/* SPDX-License-Identifier: GPL-2.0 */
/* Names come from anyone: every scan is linear, and a name that fits no form stays as it is. */
#include "verdict/stable_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define RUST_HASH_LEN 19 /* "::h" and 16 digits */

/* Without ".cold", ".constprop.0" or the like at its end. Other dots are part of a name, as Go's are. */
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

/* Compilers add suffixes from build to build; demanglers show them as "[clone .isra.0]". */
static size_t stable_len(const char *function)
{
	const char *clone = strstr(function, " [clone ");
	size_t len = clone && clone > function ? (size_t)(clone - function) : strlen(function);

	for (size_t cut; (cut = cut_suffix(function, len)) < len;)
		len = cut;
	return cut_rust_hash(function, len);
}

/* V8's "JS:*f /x/y.js:1:2": the kind and the tier that it was compiled by. */
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

/* Where a script's path begins in a JIT's name ("f /x/y.js:1:2", "py::f:/x/y.py", "f file:///x/y.js:1"), or NULL. */
static const char *path_of(const char *name)
{
	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
		if (slash > name && (slash[-1] == ' ' || slash[-1] == ':'))
			return slash;
	return NULL;
}

/* Without ":line:column" at its end. */
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

void stable_name__add_module(struct strbuf *sb, const char *module)
{
	const char *name = text__base_name(module), *so = strstr(name, ".so");
	const char *deleted = strstr(name, " (deleted)");
	size_t len = deleted ? (size_t)(deleted - name) : strlen(name);

	if (so && (so[3] == '\0' || so[3] == '.' || so[3] == ' '))
		len = so - name;
	else
		so = NULL;
	/* "libc-2.31.so" */
	for (size_t i = 1; so && i + 1 < len; i++)
		if (name[i] == '-' && isdigit((unsigned char)name[i + 1]))
			len = i;
	strbuf__add(sb, name, len);
}

void stable_name__add_thread(struct strbuf *sb, const char *comm)
{
	for (; comm && *comm; comm++)
		if (!isdigit((unsigned char)*comm))
			strbuf__addc(sb, *comm);
}
