/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names as runtimes write them into perf maps and jitdump:
 *
 *   V8       JS:~handle /srv/app.js:3:1, LazyCompile:*handle /srv/app.js:3:1, Function:…, Eval:…, Script:…
 *   HotSpot  Lcom/example/Main;::run (perf-map-agent), int com.example.Main.run(java.lang.String) (its own)
 *   CPython  py::handle:/srv/app.py
 *   .NET     void [app] Example.Main::Run(string)[OptimizedTier1]
 */
#include "symbol/interpreters/language.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *prefix, *language;
} prefixes[] = {
	{ "JS:", "javascript" },   { "LazyCompile:", "javascript" }, { "Function:", "javascript" },
	{ "Eval:", "javascript" }, { "Script:", "javascript" },	     { "RegExp:", "javascript" },
	{ "py::", "python" },
};

static bool has_tier(const char *name)
{
	static const char *const tiers[] = { "Tier0",	   "Tier1",	   "OptimizedTier1",
					     "PreJIT",	   "Optimized",	   "MinOptimized",
					     "ReadyToRun", "Instrumented", "QuickJitted" };
	size_t len = strlen(name);
	const char *open = strrchr(name, '[');

	if (!open || name[len - 1] != ']')
		return false;
	for (size_t i = 0; i < sizeof(tiers) / sizeof(*tiers); i++)
		if (!strncmp(open + 1, tiers[i], strlen(tiers[i])))
			return true;
	return false;
}

/* "void [app] Space.Class::Method(…)[Tier0]"; its stubs have no method. */
static bool is_dotnet(const char *name)
{
	const char *open = strchr(name, '['), *close = open ? strchr(open, ']') : NULL;

	return strstr(name, "::") && (has_tier(name) || (close && close[1] == ' ' && open > name));
}

static bool is_class_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* "Lcom/example/Main;::run" */
static bool is_descriptor(const char *name)
{
	const char *at = name + 1;

	if (name[0] != 'L')
		return false;
	while (is_class_char(*at) || *at == '/' || *at == '.' || *at == '+')
		at++;
	return !strncmp(at, ";::", 3) && at > name + 1;
}

/* "int com.example.Main.run(int, java.lang.String)": a type, a dotted method, parameters to the end. */
static bool is_signature(const char *name)
{
	const char *at = strchr(name, ' '), *begin;
	unsigned dots = 0;

	if (!at || at == name || name[strlen(name) - 1] != ')')
		return false;
	for (begin = name; begin < at; begin++)
		if (!is_class_char(*begin) && !strchr(".[]<>", *begin))
			return false;
	for (begin = ++at; is_class_char(*at) || strchr(".<>/+", *at); at++) {
		if (!*at)
			return false;
		dots += *at == '.';
	}
	return *at == '(' && at > begin && dots && at[-1] != '.';
}

const char *language__of(const char *name)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].language;
	if (is_descriptor(name))
		return "java";
	if (is_dotnet(name))
		return "dotnet";
	return is_signature(name) ? "java" : NULL;
}
