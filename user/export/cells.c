/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Columns of a terminal. wcwidth() knows only the locale's characters, and jankbpf often runs in
 * the "C" locale. So the important wide ranges are listed here.
 */
#include "export/shared_words.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"

struct range {
	uint32_t first, last;
};

/* East Asian Width W and F, in coarse ranges. */
static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x2e80, 0xa4cf },   { 0xac00, 0xd7a3 },	  { 0xf900, 0xfaff },
	{ 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },	  { 0x1f300, 0x1f64f },
	{ 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};

/*
 * Characters without a width, or that affect their neighbours: a name must not hide or reorder
 * other text.
 */
static const struct range unseen[] = {
	{ 0x00ad, 0x00ad }, { 0x061c, 0x061c }, { 0x115f, 0x1160 },   { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
};

static bool within(uint32_t c, const struct range *ranges, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

#define WITHIN(c, ranges) within(c, ranges, sizeof(ranges) / sizeof(*(ranges)))

/* Decodes a valid sequence. */
static uint32_t decode(const char *s, size_t len)
{
	static const unsigned char lead_mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)s[0] & lead_mask[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	return c;
}

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
		return (struct cell){ "\xef\xbf\xbd", 3, 1, 1 };
	c = decode(s, len);
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xad && WITHIN(c, unseen)))
		return (struct cell){ "?", 1, len, 1 };
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
