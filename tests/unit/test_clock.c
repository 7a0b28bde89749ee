/* SPDX-License-Identifier: GPL-2.0 */
/* The two clocks, RFC 3339 in several zones, local formats, durations for people. */
#include "base/clock.h"

#include <time.h>

#include "tests/tap.h"

static struct strbuf out = STRBUF_INIT;

static void set_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
	strbuf__reset(&out);
}

static void test_clocks(void)
{
	uint64_t mono = clock__mono_ns(), real = clock__real_ns();
	int64_t offset = clock__real_offset_ns();
	int64_t off_by = (int64_t)(clock__real_ns() - clock__mono_ns()) - offset;
	struct timespec pause = { 0, 2000000 };

	ok(clock__mono_ns() >= mono, "the monotonic clock does not go back");
	ok(real / NS_PER_SEC - (uint64_t)time(NULL) + 2 <= 4, "wall time is time(2)'s");
	ok(off_by > -50000000 && off_by < 50000000, "monotonic plus offset is wall time");
	diag("offset was off by %lld ns", (long long)off_by);
	nanosleep(&pause, NULL);
	ok(clock__mono_ns() - mono >= 2 * NS_PER_MS, "it has a resolution of nanoseconds");
}

/* POSIX zones need no zone files; their sign is inverted. */
static const struct {
	const char *zone;
	uint64_t ns;
	const char *want;
} stamps[] = {
	{ "UTC0", 0, "1970-01-01T00:00:00.000000000+00:00" },
	{ "UTC0", 1777883230123456789ull, "2026-05-04T08:27:10.123456789+00:00" },
	{ "CEST-2", 1777883230123456789ull, "2026-05-04T10:27:10.123456789+02:00" },
	{ "NST3:30", 1777883230000000001ull, "2026-05-04T04:57:10.000000001-03:30" },
	{ "XYZ0:30", 1777883230999999999ull, "2026-05-04T07:57:10.999999999-00:30" },
	{ "NPT-5:45", 1777883230000000000ull, "2026-05-04T14:12:10.000000000+05:45" },
	{ "LINT-14", 1798761600000000000ull, "2027-01-01T14:00:00.000000000+14:00" },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774745999999999999ull,
	  "2026-03-29T01:59:59.999999999+01:00" },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774746000000000000ull,
	  "2026-03-29T03:00:00.000000000+02:00" },
	{ "UTC0", UINT64_MAX, "2554-07-21T23:34:33.709551615+00:00" },
};

static void test_rfc3339(void)
{
	for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
		set_zone(stamps[i].zone);
		clock__add_rfc3339(&out, stamps[i].ns);
		is_str(strbuf__str(&out), stamps[i].want, "RFC 3339 in %s", stamps[i].zone);
	}
}

/* What was written is read as the same time, in any zone. */
static void test_read_rfc3339(void)
{
	static const char *const other[] = {
		"",
		"2026-05-04",
		"2026-05-04T08:27:10+00:00",
		"2026-05-04T08:27:10.123456789Z",
		"2026-05-04 08:27:10.123456789+00:00",
		"2026-05-04T08:27:10.123456789+00:00 ",
		"2026-05-04T08:27:1x.123456789+00:00",
	};
	uint64_t ns;

	for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
		ns = 1;
		ok(clock__read_rfc3339(stamps[i].want, &ns), "'%s' is read", stamps[i].want);
		is_uint(ns, stamps[i].ns, "as its time");
	}
	set_zone("UTC0");
	for (uint64_t day = 0; day < 146097; day += 13) { /* 400 years */
		uint64_t want = day * 86400 * NS_PER_SEC + 7;

		strbuf__reset(&out);
		clock__add_rfc3339(&out, want);
		if (!clock__read_rfc3339(strbuf__str(&out), &ns) || ns != want)
			ok(false, "day %llu is read", (unsigned long long)day);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		ok(!clock__read_rfc3339(other[i], &ns), "'%s' has another form", other[i]);
}

static const struct {
	const char *fmt, *want;
} formats[] = {
	{ "%Y-%m-%d %H:%M:%S.%L", "2026-05-04 10:27:10.023" },
	{ "%L%L", "023023" },
	{ "%%L %%%L", "%L %023" },
	{ "plain", "plain" },
	{ "", "" },
	{ "%H%", "10%" },
	{ "%m-%d %H:%M:%S.%L", "05-04 10:27:10.023" },
};

static void test_local(void)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		set_zone("CEST-2");
		clock__add_local(&out, formats[i].fmt, 1777883230023999999ull);
		is_str(strbuf__str(&out), formats[i].want, "format \"%s\"", formats[i].fmt);
	}
	strbuf__reset(&out);
	strbuf__adds(&out, "at ");
	clock__add_local(&out, "%H", 1777883230023999999ull);
	is_str(strbuf__str(&out), "at 10", "appends, does not replace");
}

static const struct {
	uint64_t ns;
	const char *want;
} durations[] = {
	{ 0, "0 ns" },
	{ 1, "1 ns" },
	{ 999, "999 ns" },
	{ 1000, "1.00 µs" },
	{ 1234, "1.23 µs" },
	{ 9995, "10.0 µs" },
	{ 99949, "99.9 µs" },
	{ 99950, "100 µs" },
	{ 412345, "412 µs" },
	{ 999499, "999 µs" },
	{ 999500, "1.00 ms" },
	{ 98300000, "98.3 ms" },
	{ 25000000, "25.0 ms" },
	{ 999999999, "1.00 s" },
	{ 1250000000, "1.25 s" },
	{ 12345678901, "12.3 s" },
	{ 59940000000, "59.9 s" },
	{ 59950000000, "1 min 0 s" },
	{ 60000000000, "1 min 0 s" },
	{ 60499999999, "1 min 0 s" },
	{ 60500000000, "1 min 1 s" },
	{ 200000000000, "3 min 20 s" },
	{ 3599499999999, "59 min 59 s" },
	{ 3599500000000, "1 h 0 min" },
	{ 7529000000000, "2 h 5 min" },
	{ 7530000000000, "2 h 6 min" },
	{ UINT64_MAX, "5124095 h 35 min" },
};

static void test_durations(void)
{
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		strbuf__reset(&out);
		clock__add_duration(&out, durations[i].ns);
		is_str(strbuf__str(&out), durations[i].want, "%llu ns",
		       (unsigned long long)durations[i].ns);
	}
}

int main(void)
{
	test_clocks();
	test_rfc3339();
	test_read_rfc3339();
	test_local();
	test_durations();
	strbuf__free(&out);
	return tap__done();
}
