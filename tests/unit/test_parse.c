/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers, times and sizes as users write them, and the messages for bad ones. */
#include "options/options_table.h"

#include <errno.h>

#include "base/clock.h"
#include "tests/tap.h"

#define UNTOUCHED 0xdeadbeefull

typedef int (*parser)(const char *str, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
		      struct err *err);

struct good {
	const char *str;
	uint64_t want;
};

struct bad {
	const char *str;
	uint64_t min, max;
	int code;
	const char *says;
};

static void check_good(parser parse, const char *kind, const struct good *row)
{
	uint64_t got = UNTOUCHED;
	struct err err = { 0 };

	is_int(parse(row->str, "--x", 0, UINT64_MAX, &got, &err), 0, "%s '%s' is accepted", kind,
	       row->str);
	is_uint(got, row->want, "%s '%s' is %llu", kind, row->str, (unsigned long long)row->want);
}

static void check_bad(parser parse, const char *kind, const struct bad *row)
{
	uint64_t got = UNTOUCHED;
	struct err err = { 0 };

	is_int(parse(row->str, "--x", row->min, row->max, &got, &err), row->code,
	       "%s '%s' is refused", kind, row->str);
	ok(got == UNTOUCHED && err.exit == JANK_EXIT_USAGE, "… result unchanged, exit status 2");
	is_str(err.msg, row->says, "… and the message");
}

#define CHECK(how, parse, rows)                                                                    \
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)                                \
	how(parse, #parse, &rows[i])

static const struct good numbers[] = {
	{ "0", 0 }, { "42", 42 }, { "007", 7 }, { "-0", 0 }, { "18446744073709551615", UINT64_MAX },
};

#define WHOLE ": give a whole number"

static const struct bad bad_numbers[] = {
	{ "", 0, 9, -EINVAL, "--x ''" WHOLE },
	{ "abc", 0, 9, -EINVAL, "--x 'abc'" WHOLE },
	{ "1x", 0, 9, -EINVAL, "--x '1x'" WHOLE },
	{ " 1", 0, 9, -EINVAL, "--x ' 1'" WHOLE },
	{ "1 ", 0, 9, -EINVAL, "--x '1 '" WHOLE },
	{ "+1", 0, 9, -EINVAL, "--x '+1'" WHOLE },
	{ "--1", 0, 9, -EINVAL, "--x '--1'" WHOLE },
	{ "0x10", 0, 99, -EINVAL, "--x '0x10'" WHOLE },
	{ "1.5", 0, 9, -EINVAL, "--x '1.5'" WHOLE },
	{ "1.0", 0, 9, -EINVAL, "--x '1.0'" WHOLE },
	{ "1e3", 0, 9, -EINVAL, "--x '1e3'" WHOLE },
	{ "0", 1, 9, -ERANGE, "--x '0' is out of range: give 1 to 9" },
	{ "10", 1, 9, -ERANGE, "--x '10' is out of range: give 1 to 9" },
	{ "-1", 0, 9, -ERANGE, "--x '-1' is out of range: give 0 to 9" },
	{ "0", 1, UINT64_MAX, -ERANGE, "--x '0' is out of range: give at least 1" },
	{ "18446744073709551616", 0, 9, -ERANGE,
	  "--x '18446744073709551616' is out of range: give 0 to 9" },
	{ "99999999999999999999999999999999999999", 5, 9, -ERANGE,
	  "--x '99999999999999999999999999999999999999' is out of range: give 5 to 9" },
};

static const struct good times[] = {
	{ "100", 100 * NS_PER_MS },
	{ "0", 0 },
	{ "0s", 0 },
	{ "1us", NS_PER_US },
	{ "100ms", 100 * NS_PER_MS },
	{ "1.5s", 1500 * NS_PER_MS },
	{ "0.1", 100 * NS_PER_US },
	{ "16.667ms", 16667 * NS_PER_US },
	{ "0.001us", 1 },
	{ "0.0019us", 1 },
	{ "2m", 120 * NS_PER_SEC },
	{ "48h", 48 * 3600 * NS_PER_SEC },
	{ "0.3333333333333333333333333333h", 1199999999999ull },
	{ "18446744073709551.615us", UINT64_MAX },
};

static const struct good long_times[] = {
	{ "5", 5 * NS_PER_SEC },  { "0.5", 500 * NS_PER_MS }, { "0", 0 },
	{ "5ms", 5 * NS_PER_MS }, { "2m", 120 * NS_PER_SEC },
};

#define TIME_HINT                                                                                  \
	": give a number with us, ms, s, m or h, as in 100ms or 1.5s; a bare number is "           \
	"milliseconds"

static const struct bad bad_times[] = {
	{ "5parsecs", 0, NS_PER_SEC, -EINVAL, "--x '5parsecs'" TIME_HINT },
	{ "", 0, NS_PER_SEC, -EINVAL, "--x ''" TIME_HINT },
	{ "ms", 0, NS_PER_SEC, -EINVAL, "--x 'ms'" TIME_HINT },
	{ "5 ms", 0, NS_PER_SEC, -EINVAL, "--x '5 ms'" TIME_HINT },
	{ "5MS", 0, NS_PER_SEC, -EINVAL, "--x '5MS'" TIME_HINT },
	{ "1.s", 0, NS_PER_SEC, -EINVAL, "--x '1.s'" TIME_HINT },
	{ ".5s", 0, NS_PER_SEC, -EINVAL, "--x '.5s'" TIME_HINT },
	{ "1.5.5s", 0, NS_PER_SEC, -EINVAL, "--x '1.5.5s'" TIME_HINT },
	{ "1,5s", 0, NS_PER_SEC, -EINVAL, "--x '1,5s'" TIME_HINT },
	{ "infs", 0, NS_PER_SEC, -EINVAL, "--x 'infs'" TIME_HINT },
	{ "nan", 0, NS_PER_SEC, -EINVAL, "--x 'nan'" TIME_HINT },
	{ "0", NS_PER_US, 24 * 3600 * NS_PER_SEC, -ERANGE,
	  "--x '0' is out of range: give 1us to 24h" },
	{ "25h", NS_PER_US, 24 * 3600 * NS_PER_SEC, -ERANGE,
	  "--x '25h' is out of range: give 1us to 24h" },
	{ "-5ms", 0, 90 * NS_PER_SEC, -ERANGE, "--x '-5ms' is out of range: give 0 to 90s" },
	{ "-0.1ms", 0, 1500 * NS_PER_MS, -ERANGE,
	  "--x '-0.1ms' is out of range: give 0 to 1500ms" },
	{ "999999999999999999h", 0, 60 * NS_PER_SEC, -ERANGE,
	  "--x '999999999999999999h' is out of range: give 0 to 1m" },
	{ "18446744073709551.616us", 1, UINT64_MAX, -ERANGE,
	  "--x '18446744073709551.616us' is out of range: give at least 1us" },
	{ "2us", 0, 1999, -ERANGE, "--x '2us' is out of range: give 0 to 1us" },
};

static const struct good sizes[] = {
	{ "0", 0 },
	{ "4096", 4096 },
	{ "4096B", 4096 },
	{ "64k", 65536 },
	{ "64K", 65536 },
	{ "64kB", 65536 },
	{ "64KiB", 65536 },
	{ "1M", 1 << 20 },
	{ "1MB", 1 << 20 },
	{ "1MiB", 1 << 20 },
	{ "2G", 2ull << 30 },
	{ "2GiB", 2ull << 30 },
	{ "1.5M", 3 << 19 },
	{ "0.5k", 512 },
	{ "1.001k", 1025 },
	{ "1m", 1 << 20 },
	{ "17179869183G", UINT64_MAX - (1 << 30) + 1 },
};

#define SIZE_HINT ": give a number of bytes with k, M or G where wanted, as in 64M"

static const struct bad bad_sizes[] = {
	{ "", 0, 9, -EINVAL, "--x ''" SIZE_HINT },
	{ "M", 0, 9, -EINVAL, "--x 'M'" SIZE_HINT },
	{ "1.5", 0, 9, -EINVAL, "--x '1.5'" SIZE_HINT },
	{ "1T", 0, 9, -EINVAL, "--x '1T'" SIZE_HINT },
	{ "1kk", 0, 9, -EINVAL, "--x '1kk'" SIZE_HINT },
	{ "1 M", 0, 9, -EINVAL, "--x '1 M'" SIZE_HINT },
	{ "-1M", 0, 4096, -ERANGE, "--x '-1M' is out of range: give 0 to 4k" },
	{ "1k", 1 << 20, 3ull << 30, -ERANGE, "--x '1k' is out of range: give 1M to 3G" },
	{ "17179869184G", 1000, UINT64_MAX, -ERANGE,
	  "--x '17179869184G' is out of range: give at least 1000" },
};

static void test_limits(void)
{
	struct err err;
	uint64_t v = 0;

	is_int(parse__u64("1", "--x", 1, 9, &v, &err), 0, "the least is in range");
	is_int(parse__u64("9", "--x", 1, 9, &v, &err), 0, "the most is in range");
	is_uint(v, 9, "… and read");
	is_int(parse__time("x", "--x", 0, 9, &v, NULL), -EINVAL, "err may be NULL");
}

/* The message is for a terminal, and its length is bounded. */
static void test_hostile(void)
{
	char junk[1000];
	struct err err;
	uint64_t v;

	parse__u64("\x1b[2J\n\xff", "--x", 0, 9, &v, &err);
	is_str(err.msg, "--x '?[2J?\xef\xbf\xbd'" WHOLE, "control and invalid bytes are cleaned");
	memset(junk, 'y', sizeof(junk) - 1);
	junk[sizeof(junk) - 1] = '\0';
	parse__u64(junk, "--x", 0, 9, &v, &err);
	has_str(err.msg, "yyy…'" WHOLE, "a long argument is cut, the remedy kept");
	for (size_t i = 0; i + 2 < sizeof(junk); i += 2)
		memcpy(junk + i + 1, "é", 2);
	parse__u64(junk, "--x", 0, 9, &v, &err);
	has_str(err.msg, "éé…'" WHOLE, "… between characters");
	memset(junk, '\xff', sizeof(junk) - 1);
	parse__time(junk, "--x", 0, 9, &v, &err);
	has_str(err.msg, "milliseconds", "… and even of the worst bytes all of the remedy");
	memset(junk, '1', sizeof(junk) - 1);
	is_int(parse__u64(junk, "--x", 0, 9, &v, &err), -ERANGE, "999 digits are out of range");
	memcpy(junk, "0.", 2);
	junk[998] = 's';
	is_int(parse__time(junk, "--x", 0, NS_PER_SEC, &v, &err), 0, "996 decimals are a time");
	is_uint(v, 111111111, "… rounded down");
}

int main(void)
{
	CHECK(check_good, parse__u64, numbers);
	CHECK(check_bad, parse__u64, bad_numbers);
	CHECK(check_good, parse__time, times);
	CHECK(check_bad, parse__time, bad_times);
	CHECK(check_good, parse__long_time, long_times);
	CHECK(check_good, parse__size, sizes);
	CHECK(check_bad, parse__size, bad_sizes);
	test_limits();
	test_hostile();
	return tap__done();
}
