/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the clocks, relates them, and formats times for people and as RFC 3339. */
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define OFFSET_READINGS 8

static uint64_t clock__ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return timespec__ns(ts);
}

uint64_t clock__mono_ns(void)
{
	return clock__ns(CLOCK_MONOTONIC);
}

uint64_t clock__real_ns(void)
{
	return clock__ns(CLOCK_REALTIME);
}

uint64_t clock__thread_ns(void)
{
	return clock__ns(CLOCK_THREAD_CPUTIME_ID);
}

int clock__process_ns(pid_t pid, uint64_t *ret)
{
	struct timespec ts;
	clockid_t id;
	int code = clock_getcpuclockid(pid, &id);

	if (code)
		return -code;
	if (clock_gettime(id, &ts))
		return -errno;
	*ret = timespec__ns(ts);
	return 0;
}

uint64_t clock__suspended_ns(void)
{
	uint64_t mono = clock__mono_ns(), boot = clock__ns(CLOCK_BOOTTIME);

	return boot > mono ? boot - mono : 0;
}

int64_t clock__real_offset_ns(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < OFFSET_READINGS; i++) {
		uint64_t before = clock__mono_ns();
		uint64_t real = clock__real_ns();
		uint64_t width = clock__mono_ns() - before;

		if (width >= best)
			continue;
		best = width;
		offset = (int64_t)(real - (before + width / 2));
	}
	return offset;
}

static void local_time(uint64_t real_ns, struct tm *tm)
{
	time_t sec = (time_t)(real_ns / NS_PER_SEC);

	memset(tm, 0, sizeof(*tm));
	localtime_r(&sec, tm);
}

void clock__add_rfc3339(struct strbuf *sb, uint64_t real_ns)
{
	char date[64];
	struct tm tm;
	long zone;

	local_time(real_ns, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	zone = tm.tm_gmtoff / 60;
	strbuf__addf(sb, "%s.%09llu%c", date, real_ns % NS_PER_SEC, zone < 0 ? '-' : '+');
	zone = zone < 0 ? -zone : zone;
	strbuf__addf(sb, "%02ld:%02ld", zone / 60, zone % 60);
}

/* Days from 1970-01-01, Gregorian calendar. Counts from March, so that a leap day is last. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t march = (month + 9) % 12;

	year -= month < 3;
	return year * 365 + year / 4 - year / 100 + year / 400 + (march * 306 + 5) / 10 + day - 1 -
	       719468;
}

bool clock__read_rfc3339(const char *text, uint64_t *ret_real_ns)
{
	static const char form[] = "0000-00-00T00:00:00.000000000+00:00";
	int64_t parts[9] = { 0 }, seconds, zone;
	char sign = '+';

	for (size_t i = 0, part = 0; i < sizeof(form); i++) {
		if (form[i] != '0')
			part++;
		else if (text[i] >= '0' && text[i] <= '9')
			parts[part] = parts[part] * 10 + text[i] - '0';
		else
			return false;
		if (form[i] == '+' && (text[i] == '+' || text[i] == '-'))
			sign = text[i];
		else if (form[i] != '0' && text[i] != form[i])
			return false;
	}
	zone = (parts[7] * 60 + parts[8]) * 60;
	seconds = ((days_of(parts[0], parts[1], parts[2]) * 24 + parts[3]) * 60 + parts[4]) * 60 +
		  parts[5] - (sign == '-' ? -zone : zone);
	*ret_real_ns = (uint64_t)seconds * NS_PER_SEC + (uint64_t)parts[6];
	return true;
}

/* Replaces each "%L", which strftime does not have, by digits; keeps the rest of the format. */
static void expand_millis(struct strbuf *sb, const char *fmt, uint64_t real_ns)
{
	for (; *fmt; fmt++) {
		if (fmt[0] != '%' || !fmt[1]) {
			strbuf__addc(sb, *fmt);
			continue;
		}
		fmt++;
		if (*fmt == 'L')
			strbuf__addf(sb, "%03llu", real_ns % NS_PER_SEC / NS_PER_MS);
		else
			strbuf__addf(sb, "%%%c", *fmt);
	}
}

void clock__add_local(struct strbuf *sb, const char *fmt, uint64_t real_ns)
{
	struct strbuf expanded = STRBUF_INIT;
	char text[256];
	struct tm tm;
	size_t len;

	local_time(real_ns, &tm);
	expand_millis(&expanded, fmt, real_ns);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
	"-Wformat-nonliteral" /* strftime formats have no arguments to match */
	len = strftime(text, sizeof(text), strbuf__str(&expanded), &tm);
#pragma GCC diagnostic pop
	strbuf__add(sb, text, len);
	strbuf__free(&expanded);
}

static void add_minutes(struct strbuf *sb, uint64_t ns)
{
	uint64_t sec = ns / NS_PER_SEC + (ns % NS_PER_SEC >= NS_PER_SEC / 2);

	if (sec < 3600)
		strbuf__addf(sb, "%" PRIu64 " min %" PRIu64 " s", sec / 60, sec % 60);
	else
		strbuf__addf(sb, "%" PRIu64 " h %" PRIu64 " min", (sec + 30) / 3600,
			     (sec + 30) / 60 % 60);
}

/* Adds ns, already rounded to three significant digits, in a unit of `unit_ns`. */
static void add_in_unit(struct strbuf *sb, uint64_t ns, uint64_t unit_ns, const char *name)
{
	uint64_t whole = ns / unit_ns;
	int decimals = whole >= 100 ? 0 : whole >= 10 ? 1 : 2;

	strbuf__addf(sb, "%.*f %s", decimals, (double)ns / (double)unit_ns, name);
}

void clock__add_duration(struct strbuf *sb, uint64_t ns)
{
	uint64_t step = 1, rounded = ns;

	if (ns < 60 * NS_PER_SEC) {
		while (ns / step >= 1000)
			step *= 10;
		rounded = (ns + step / 2) / step * step;
	}
	if (rounded >= 60 * NS_PER_SEC)
		add_minutes(sb, ns);
	else if (rounded >= NS_PER_SEC)
		add_in_unit(sb, rounded, NS_PER_SEC, "s");
	else if (rounded >= NS_PER_MS)
		add_in_unit(sb, rounded, NS_PER_MS, "ms");
	else if (rounded >= NS_PER_US)
		add_in_unit(sb, rounded, NS_PER_US, "µs");
	else
		strbuf__addf(sb, "%" PRIu64 " ns", rounded);
}

/* --- Android's limits */

const uint64_t anr__limits_s[ANR_LIMITS] = { 5, 10, 20, 200 };

uint32_t anr__exceeded(uint64_t delay_ns)
{
	uint32_t ret = 0;

	for (int i = 0; i < ANR_LIMITS; i++)
		if (delay_ns > anr__limits_s[i] * NS_PER_SEC)
			ret = anr__limits_s[i];
	return ret;
}
