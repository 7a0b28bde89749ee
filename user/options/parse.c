/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers of numbers, times and sizes: strict, exact (no floating point). Each error message names
 * a valid form.
 */
#include "options/options_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "base/text.h"

#define QUOTE_MAX 60 /* bytes of a bad argument that a message repeats */

struct unit {
	const char *name;
	uint64_t factor;
};

struct quantity {
	const char *hint;
	const struct unit *units; /* largest first, then aliases; the last name is NULL */
	bool any_case;
};

/* bare: the unit of a number without a unit, in ns. */
#define TIME_UNITS(bare)                                                                           \
	{                                                                                          \
		{ "h", 3600 * NS_PER_SEC }, { "m", 60 * NS_PER_SEC }, { "s", NS_PER_SEC },         \
			{ "ms", NS_PER_MS }, { "us", NS_PER_US }, { "", bare }, { NULL, 0 },       \
	}

static const struct unit time_units[] = TIME_UNITS(NS_PER_MS);
static const struct unit long_time_units[] = TIME_UNITS(NS_PER_SEC);

static const struct unit size_units[] = {
	{ "G", 1 << 30 },   { "M", 1 << 20 },	{ "k", 1 << 10 },   { "", 1 },
	{ "GB", 1 << 30 },  { "MB", 1 << 20 },	{ "kB", 1 << 10 },  { "B", 1 },
	{ "GiB", 1 << 30 }, { "MiB", 1 << 20 }, { "KiB", 1 << 10 }, { NULL, 0 },
};

static const struct unit plain_units[] = { { "", 1 }, { NULL, 0 } };

static const struct quantity a_number = { "a whole number", plain_units, false };
static const struct quantity a_time = {
	"a number with us, ms, s, m or h, as in 100ms or 1.5s; a bare number is milliseconds",
	time_units, false
};
static const struct quantity a_long_time = {
	"a number with us, ms, s, m or h, as in 100ms or 1.5s; a bare number is seconds",
	long_time_units, false
};
static const struct quantity a_size = { "a number of bytes with k, M or G where wanted, as in 64M",
					size_units, true };

/* A parsed number. Whole and fraction stay separate until the unit is known. */
struct number {
	uint64_t whole;
	const char *frac; /* the digits after the point */
	size_t frac_len;
	bool negative, overflow;
};

static const char *scan_digits(const char *s)
{
	return s + strspn(s, "0123456789");
}

/* Returns what follows the number, or NULL when there is none. */
static const char *scan_number(const char *s, struct number *num)
{
	const char *end;

	memset(num, 0, sizeof(*num));
	num->negative = *s == '-';
	s += num->negative;
	end = scan_digits(s);
	if (end == s)
		return NULL;
	for (; s < end; s++)
		num->overflow |= __builtin_mul_overflow(num->whole, 10, &num->whole) ||
				 __builtin_add_overflow(num->whole, *s - '0', &num->whole);
	if (*end != '.')
		return end;
	num->frac = end + 1;
	end = scan_digits(num->frac);
	num->frac_len = end - num->frac;
	return num->frac_len ? end : NULL;
}

static const struct unit *find_unit(const struct quantity *q, const char *name)
{
	for (const struct unit *unit = q->units; unit->name; unit++)
		if (!(q->any_case ? strcasecmp : strcmp)(unit->name, name))
			return unit;
	return NULL;
}

/*
 * floor(0.frac * factor), from the last digit on, because floor((floor(x) + n) / 10) = floor((x +
 * n) / 10).
 */
static uint64_t scale_fraction(const struct number *num, uint64_t factor)
{
	uint64_t scaled = 0;

	for (size_t i = num->frac_len; i-- > 0;)
		scaled = (scaled + (uint64_t)(num->frac[i] - '0') * factor) / 10;
	return scaled;
}

static int number_scale(struct number *num, uint64_t factor, uint64_t *ret)
{
	uint64_t frac = scale_fraction(num, factor);

	num->overflow |= __builtin_mul_overflow(num->whole, factor, ret) ||
			 __builtin_add_overflow(*ret, frac, ret);
	return num->overflow || (num->negative && *ret) ? -ERANGE : 0;
}

static int quantity_read(const struct quantity *q, const char *str, uint64_t *ret)
{
	const struct unit *unit;
	struct number num;
	const char *rest = scan_number(str, &num);

	if (!rest)
		return -EINVAL;
	unit = find_unit(q, rest);
	if (!unit || (num.frac_len && unit->factor == 1))
		return -EINVAL;
	return number_scale(&num, unit->factor, ret);
}

/*
 * Adds a limit in the largest unit that gives a whole number. In the smallest unit, the limit is
 * rounded into the range.
 */
static void add_limit(struct strbuf *sb, const struct quantity *q, uint64_t v, bool up)
{
	const struct unit *unit = q->units;

	while (unit[1].factor && unit[1].factor < unit->factor && v % unit->factor)
		unit++;
	if (!v)
		unit = find_unit(q, "");
	up = up && v % unit->factor;
	strbuf__addf(sb, "%" PRIu64 "%s", v / unit->factor + up, unit->name);
}

static void add_quoted(struct strbuf *sb, const char *str)
{
	char cut[QUOTE_MAX + 1];
	size_t len = strnlen(str, QUOTE_MAX);

	/* Do not cut inside a UTF-8 sequence. */
	if (str[len])
		while (len > QUOTE_MAX - 4 && ((unsigned char)str[len] & 0xc0) == 0x80)
			len--;
	snprintf(cut, sizeof(cut), "%.*s", (int)len, str);
	strbuf__addc(sb, '\'');
	text__add_clean(sb, cut);
	strbuf__adds(sb, str[len] ? "…'" : "'");
}

static void add_reason(struct strbuf *sb, const struct quantity *q, int code, uint64_t min,
		       uint64_t max)
{
	if (code == -EINVAL) {
		strbuf__addf(sb, ": give %s", q->hint);
		return;
	}
	strbuf__adds(sb, max == UINT64_MAX ? " is out of range: give at least "
					   : " is out of range: give ");
	add_limit(sb, q, min, true);
	if (max == UINT64_MAX)
		return;
	strbuf__adds(sb, " to ");
	add_limit(sb, q, max, false);
}

static int refuse(const struct quantity *q, const char *str, const char *what, int code,
		  uint64_t min, uint64_t max, struct err *err)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf__addf(&sb, "%s ", what);
	add_quoted(&sb, str);
	add_reason(&sb, q, code, min, max);
	err__set_exit(err, JANK_EXIT_USAGE, -code, "%s", strbuf__str(&sb));
	strbuf__free(&sb);
	return code;
}

static int quantity_parse(const struct quantity *q, const char *str, const char *what, uint64_t min,
			  uint64_t max, uint64_t *ret, struct err *err)
{
	uint64_t v = 0;
	int code = quantity_read(q, str, &v);

	if (!code && (v < min || v > max))
		code = -ERANGE;
	if (code)
		return refuse(q, str, what, code, min, max, err);
	*ret = v;
	return 0;
}

int parse__u64(const char *str, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
	       struct err *err)
{
	return quantity_parse(&a_number, str, what, min, max, ret, err);
}

int parse__time(const char *str, const char *what, uint64_t min_ns, uint64_t max_ns,
		uint64_t *ret_ns, struct err *err)
{
	return quantity_parse(&a_time, str, what, min_ns, max_ns, ret_ns, err);
}

int parse__long_time(const char *str, const char *what, uint64_t min_ns, uint64_t max_ns,
		     uint64_t *ret_ns, struct err *err)
{
	return quantity_parse(&a_long_time, str, what, min_ns, max_ns, ret_ns, err);
}

int parse__size(const char *str, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
		struct err *err)
{
	return quantity_parse(&a_size, str, what, min, max, ret, err);
}
