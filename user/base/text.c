/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8 by the table of well-formed sequences (Unicode, table 3-7), and safe display of names. */
#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * The second byte's range excludes overlong forms, surrogates and values above U+10FFFF. Further
 * bytes are always 80..bf.
 */
static const struct utf8_form {
	unsigned char lead_min, lead_max, second_min, second_max;
	size_t len;
} utf8_forms[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static size_t form_len(const struct utf8_form *form, const unsigned char *s, size_t left)
{
	if (left < form->len || s[1] < form->second_min || s[1] > form->second_max)
		return 0;
	for (size_t i = 2; i < form->len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return form->len;
}

size_t text__cut(const char *str, size_t max)
{
	size_t len = strnlen(str, max), whole = len;

	while (str[len] && whole && len - whole < 4 && ((unsigned char)str[whole] & 0xc0) == 0x80)
		whole--;
	/* Where no sequence begins, these are no UTF-8. */
	return ((unsigned char)str[whole] & 0xc0) == 0x80 ? len : whole;
}

bool text__same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

int text__copy(char **ret, const char *str)
{
	*ret = str ? strdup(str) : NULL;
	return str && !*ret ? -ENOMEM : 0;
}

size_t text__utf8_len(const char *str, size_t left)
{
	const unsigned char *s = (const unsigned char *)str;

	if (!left)
		return 0;
	if (s[0] < 0x80)
		return 1;
	for (size_t i = 0; i < sizeof(utf8_forms) / sizeof(utf8_forms[0]); i++)
		if (s[0] >= utf8_forms[i].lead_min && s[0] <= utf8_forms[i].lead_max)
			return form_len(&utf8_forms[i], s, left);
	return 0;
}

/* --- characters that a name must not have */

struct range {
	uint32_t first, last;
};

static bool within(uint32_t c, const struct range *ranges, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

#define WITHIN(c, ranges) within(c, ranges, sizeof(ranges) / sizeof(*(ranges)))

/*
 * Characters without a width, or that affect their neighbours: a name must not hide or reorder
 * other text.
 */
static const struct range unseen[] = {
	{ 0x00ad, 0x00ad }, { 0x061c, 0x061c }, { 0x115f, 0x1160 },   { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

/* Decodes a valid sequence. */
static uint32_t decode(const char *s, size_t len)
{
	static const unsigned char lead_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)s[0] & lead_mask[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

bool text__is_hidden(const char *s, size_t len)
{
	uint32_t c = decode(s, len);

	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xad && WITHIN(c, unseen));
}

/* True for eight bytes of visible ASCII: none is below 0x20, or above 0x7e. */
static bool is_plain(const char *s)
{
	const uint64_t ones = ~0ull / 255, tops = ones << 7;
	uint64_t word, del;

	memcpy(&word, s, sizeof(word));
	del = word ^ ones * 0x7f;
	return !(tops & (word | ((word - ones * 0x20) & ~word) | ((del - ones) & ~del)));
}

/*
 * Length of the visible ASCII at s. Nearly all names have nothing else, and a record has ten
 * thousands of them.
 */
static size_t plain_part(const char *s, size_t left)
{
	size_t at = 0;

	while (left - at >= sizeof(uint64_t) && is_plain(s + at))
		at += sizeof(uint64_t);
	while (at < left && s[at] >= ' ' && s[at] < 0x7f)
		at++;
	return at;
}

/* Length before the first byte that is not UTF-8, or not to be shown, of `left` bytes. */
static size_t clean_part(const char *s, size_t left)
{
	size_t at = plain_part(s, left), len;

	while (at < left && (len = text__utf8_len(s + at, left - at)) &&
	       !text__is_hidden(s + at, len)) {
		at += len;
		at += plain_part(s + at, left - at);
	}
	return at;
}

bool text__is_clean(const char *str)
{
	size_t len = strlen(str);

	return clean_part(str, len) == len;
}

void text__add_clean(struct strbuf *sb, const char *str)
{
	size_t left = strlen(str);

	while (left) {
		size_t len = clean_part(str, left);

		strbuf__add(sb, str, len);
		str += len;
		left -= len;
		if (!left)
			break;
		len = text__utf8_len(str, left);
		strbuf__adds(sb, len ? "?" : REPLACEMENT);
		str += len ?: 1;
		left -= len ?: 1;
	}
}

bool text__begins(const char *text, const char *begin)
{
	return !begin || (text && !strncmp(text, begin, strlen(begin)));
}

/* Only the last star can take more: fnmatch tries all of them, which takes exponential time. */
bool text__matches(const char *glob, const char *text)
{
	const char *star = NULL, *taken = NULL;

	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			taken = text;
		} else if (*glob == '?' || *glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = ++taken;
		} else {
			return false;
		}
	}
	return !glob[strspn(glob, "*")];
}

size_t text__secret_len(const char *text)
{
	size_t len = strcspn(text, "\r\n");

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return 0;
	return len;
}

const char *text__base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ?: "";
}

/*
 * --- columns of a terminal. wcwidth() knows only the locale's characters, and jankbpf often runs
 * in the "C" locale. So the important wide ranges are listed here.
 */

/* East Asian Width W and F, in coarse ranges. */
static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },	  { 0xf900, 0xfaff },
	{ 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },	  { 0x1f300, 0x1f64f },
	{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};

/* The next character of s in its displayed form. */
struct cell {
	const char *bytes;
	size_t len;   /* of bytes */
	size_t taken; /* of s */
	unsigned width;
};

static struct cell next_cell(const char *s, size_t left)
{
	size_t len = text__utf8_len(s, left);
	uint32_t c;

	if (!len)
		return (struct cell){ REPLACEMENT, 3, 1, 1 };
	if (text__is_hidden(s, len))
		return (struct cell){ "?", 1, len, 1 };
	c = decode(s, len);
	return (struct cell){ s, len, len, c >= 0x1100 && WITHIN(c, wide) ? 2 : 1 };
}

unsigned cells__width(const char *str)
{
	size_t left = strlen(str);
	unsigned width = 0;

	while (left) {
		struct cell cell = next_cell(str, left);

		width += cell.width;
		str += cell.taken;
		left -= cell.taken;
	}
	return width;
}

unsigned cells__add(struct strbuf *sb, const char *str, unsigned max)
{
	size_t left = strlen(str), fits = sb->len; /* end of the text if "…" is needed */
	unsigned width = 0, fits_width = 0;

	while (left) {
		struct cell cell = next_cell(str, left);

		if (width + cell.width > max)
			break;
		strbuf__add(sb, cell.bytes, cell.len);
		width += cell.width;
		if (width < max) {
			fits = sb->len;
			fits_width = width;
		}
		str += cell.taken;
		left -= cell.taken;
	}
	if (!left || !max || sb->failed)
		return width;
	sb->len = fits;
	strbuf__adds(sb, "…");
	return fits_width + 1;
}
