/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A point in time that the user gives: an absolute one, or how long ago. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "options/options_table.h"

#define AGO_MAX_NS (100 * 365 * 24 * 3600ull * NS_PER_SEC)

/* Digits after a decimal point, as ns; returns what follows. */
static const char *read_fraction(const char *s, uint64_t *ret_ns)
{
	uint64_t unit = NS_PER_SEC / 10;

	*ret_ns = 0;
	if (*s != '.')
		return s;
	for (s++; isdigit((unsigned char)*s); s++, unit /= 10)
		*ret_ns += (uint64_t)(*s - '0') * unit;
	return s;
}

/* "Z" or "+02:00": seconds east of UTC. False: another text. */
static bool read_zone(const char *s, long *ret_s)
{
	int hours, minutes, len = 0;
	char sign;

	*ret_s = 0;
	if (!strcasecmp(s, "z"))
		return true;
	if (sscanf(s, "%c%2d:%2d%n", &sign, &hours, &minutes, &len) != 3 || s[len])
		return false;
	if ((sign != '+' && sign != '-') || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return false;
	*ret_s = (hours * 60L + minutes) * 60 * (sign == '-' ? -1 : 1);
	return true;
}

/* A date with an optional time of day. False: another text, or before 1970. */
static bool read_absolute(const char *str, uint64_t *ret_ns)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					     "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d" };
	uint64_t fraction;
	const char *rest = NULL;
	struct tm tm;
	long zone;
	time_t seconds;

	for (size_t i = 0; !rest && i < sizeof(forms) / sizeof(*forms); i++) {
		memset(&tm, 0, sizeof(tm));
		rest = strptime(str, forms[i], &tm);
	}
	if (!rest)
		return false;
	rest = read_fraction(rest, &fraction);
	tm.tm_isdst = -1;
	if (!*rest)
		seconds = mktime(&tm);
	else if (read_zone(rest, &zone))
		seconds = timegm(&tm) - zone;
	else
		return false;
	*ret_ns = (uint64_t)seconds * NS_PER_SEC + fraction;
	return seconds >= 0;
}

int parse__moment(const char *str, const char *what, uint64_t now_ns, uint64_t *ret_ns,
		  struct err *err)
{
	struct strbuf shown = STRBUF_INIT;
	size_t len = strlen(str);
	uint64_t ago;

	if (read_absolute(str, ret_ns))
		return 0;
	/* A bare number could be a year, seconds or minutes. */
	if (len && isalpha((unsigned char)str[len - 1]) &&
	    !parse__time(str, what, 0, AGO_MAX_NS, &ago, NULL)) {
		*ret_ns = ago < now_ns ? now_ns - ago : 0;
		return 0;
	}
	text__add_clean(&shown, str);
	err__set_exit(
		err, JANK_EXIT_USAGE, EINVAL,
		"%s '%.60s': give a time as in 2026-05-04T10:20:30Z or '2026-05-04 10:20:30', "
		"or 10m or 2h for so long ago",
		what, strbuf__str(&shown));
	strbuf__free(&shown);
	return -EINVAL;
}
