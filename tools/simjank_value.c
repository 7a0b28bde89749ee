/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parsers of simjank's option values: every number is range-checked, a bad one is quoted. */
#include "simjank_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simjank_clock.h"

#define TIME_MAX_NS (24 * 3600 * NS_PER_S)

_Noreturn void usage__fail(const char *fmt, ...)
{
	va_list args;

	fputs("simjank: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("; see --help\n", stderr);
	exit(2);
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },	   { "us", NS_PER_US },	   { "ms", NS_PER_MS },
	{ "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	{ "", NS_PER_MS },
};

static bool unit__find(const char *text, size_t len, uint64_t *ns)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len && !memcmp(units[i].name, text, len)) {
			*ns = units[i].ns;
			return true;
		}
	return false;
}

/* "40ms", "1.5s", "40": milliseconds where no unit is given. */
static bool time__parse(const char *text, size_t len, uint64_t *ns)
{
	uint64_t whole = 0, unit = 0, part_ns = 0;
	size_t at = 0, unit_at = strspn(text, "0123456789.");

	if (!len || unit_at > len || !isdigit((unsigned char)text[0]) ||
	    !unit__find(text + unit_at, len - unit_at, &unit))
		return false;
	for (; at < unit_at && text[at] != '.'; at++) {
		whole = whole * 10 + (uint64_t)(text[at] - '0');
		if (whole > TIME_MAX_NS)
			return false;
	}
	if (at < unit_at && ++at == unit_at)
		return false;
	for (uint64_t step = unit / 10; at < unit_at; at++, step /= 10) {
		if (text[at] == '.')
			return false;
		part_ns += (uint64_t)(text[at] - '0') * step;
	}
	if (whole > TIME_MAX_NS / unit)
		return false;
	*ns = whole * unit + part_ns;
	return *ns <= TIME_MAX_NS;
}

void time__need(const char *name, const char *text, uint64_t *ns)
{
	if (!time__parse(text, strlen(text), ns))
		usage__fail("--%s: \"%s\" is no time up to 24h, such as 40ms", name, text);
}

void range__need(const char *name, const char *text, size_t len, struct range *range)
{
	const char *dash = memchr(text, '-', len);
	size_t first = dash ? (size_t)(dash - text) : len;

	if (!time__parse(text, first, &range->min_ns) ||
	    !time__parse(dash ? dash + 1 : text, dash ? len - first - 1 : len, &range->max_ns) ||
	    range->min_ns > range->max_ns)
		usage__fail("%s: \"%.*s\" is no time or range of times, such as 40ms or 30ms-120ms",
			    name, (int)len, text);
}

uint64_t number__need(const char *name, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)text[0]) || *end || value < min || value > max)
		usage__fail("--%s: \"%s\" is no number from %ju to %ju", name, text, (uintmax_t)min,
			    (uintmax_t)max);
	return value;
}

/* The index of a word, given by its first len bytes. */
unsigned word__need(const char *name, const char *text, size_t len, const char *const *words)
{
	for (unsigned i = 0; words && words[i]; i++)
		if (strlen(words[i]) == len && !memcmp(words[i], text, len))
			return i;
	usage__fail("--%s: \"%.*s\" is not known here", name, (int)len, text);
}
