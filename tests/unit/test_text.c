/* SPDX-License-Identifier: GPL-2.0 */
/* UTF-8 validity, and names of traced programs made safe to show. */
#include "base/text.h"

#include <stdint.h>

#include "tests/tap.h"

#define FFFD "\xef\xbf\xbd"

static const struct {
	const char *bytes;
	size_t left, want;
	const char *what;
} sequences[] = {
	{ "a", 0, 0, "nothing left" },
	{ "", 1, 1, "NUL is a character" },
	{ "\x7f", 1, 1, "U+007F" },
	{ "\x80", 1, 0, "a lone continuation" },
	{ "\xbf", 1, 0, "the last continuation" },
	{ "\xc0\x80", 2, 0, "overlong NUL" },
	{ "\xc1\xbf", 2, 0, "overlong U+007F" },
	{ "\xc2\x80", 2, 2, "U+0080" },
	{ "\xc2", 1, 0, "cut after one of two" },
	{ "\xc2"
	  "A",
	  2, 0, "lead without continuation" },
	{ "\xdf\xbf", 2, 2, "U+07FF" },
	{ "\xe0\x9f\xbf", 3, 0, "overlong U+07FF" },
	{ "\xe0\xa0\x80", 3, 3, "U+0800" },
	{ "\xe2\x82", 2, 0, "cut after two of three" },
	{ "\xed\x9f\xbf", 3, 3, "U+D7FF" },
	{ "\xed\xa0\x80", 3, 0, "the first surrogate" },
	{ "\xed\xbf\xbf", 3, 0, "the last surrogate" },
	{ "\xee\x80\x80", 3, 3, "U+E000" },
	{ "\xef\xbf\xbf", 3, 3, "U+FFFF" },
	{ "\xef\xbf\xc0", 3, 0, "bad third byte" },
	{ "\xf0\x8f\xbf\xbf", 4, 0, "overlong U+FFFF" },
	{ "\xf0\x90\x80\x80", 4, 4, "U+10000" },
	{ "\xf0\x9f\x98\x80", 4, 4, "an emoji" },
	{ "\xf0\x9f\x98\x80", 3, 0, "an emoji cut" },
	{ "\xf4\x8f\xbf\xbf", 4, 4, "U+10FFFF" },
	{ "\xf4\x90\x80\x80", 4, 0, "U+110000" },
	{ "\xf5\x80\x80\x80", 4, 0, "a lead beyond Unicode" },
	{ "\xf8\x88\x80\x80\x80", 5, 0, "five bytes" },
	{ "\xff", 1, 0, "0xff" },
};

static void test_sequences(void)
{
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++)
		is_uint(text__utf8_len(sequences[i].bytes, sequences[i].left), sequences[i].want,
			"length: %s", sequences[i].what);
}

static size_t encode(uint32_t c, char *out)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 63));
		out[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 63));
	out[2] = (char)(0x80 | (c >> 6 & 63));
	out[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* Every code point, by an encoder that shares nothing with the table. */
static void test_all_code_points(void)
{
	uint32_t wrong = 0;
	char s[4];

	for (uint32_t c = 0; c < 0x120000; c++) {
		bool valid = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
		size_t len = encode(c, s);

		wrong += text__utf8_len(s, len) != (valid ? len : 0);
	}
	is_uint(wrong, 0, "all code points to U+11FFFF");
}

/* Two bytes that are not a lead and its continuation never count as one sequence. */
static void test_all_pairs(void)
{
	unsigned wrong = 0;

	for (unsigned a = 0x80; a < 0x100; a++)
		for (unsigned b = 0; b < 0x100; b++) {
			char s[2] = { (char)a, (char)b };
			bool two = a >= 0xc2 && a <= 0xdf && (b & 0xc0) == 0x80;

			wrong += text__utf8_len(s, 2) != (two ? 2 : 0);
		}
	is_uint(wrong, 0, "all pairs of bytes");
}

/* Each byte at any place of a word of eight bytes, and of a longer text. */
static void test_is_clean(void)
{
	size_t wrong = 0;

	for (size_t len = 0; len < 40; len++)
		for (size_t at = 0; at < len; at++)
			for (unsigned byte = 1; byte < 256; byte++) {
				char str[64] = "";

				memset(str, at % 2 ? ' ' : '~', len);
				str[at] = (char)byte;
				wrong += text__is_clean(str) != (byte >= 0x20 && byte < 0x7f);
			}
	for (size_t at = 0; at < 20; at++) {
		char str[64] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

		memcpy(str + at, "\xc3\xa9", 2);
		wrong += !text__is_clean(str);
		memcpy(str + at, "\xe2\x80\xae", 3);
		wrong += text__is_clean(str);
	}
	is_uint(wrong, 0, "clean texts of any length");
}

/* By a list that shares nothing with the ranges. */
static void test_hidden(void)
{
	static const uint32_t hidden[] = { 0x00ad, 0x061c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029,
					   0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2066,
					   0x2067, 0x2068, 0x2069, 0xfeff, 0xe0001 };
	static const uint32_t shown[] = { ' ',	  '~',	  0xa0,	  0xe9,	  0x5d0,  0x627,  0x200a,
					  0x2010, 0x2027, 0x202f, 0x2070, 0x65e5, 0x1f600 };
	char s[4];

	for (uint32_t c = 1; c < 0xa0; c++)
		if (c < 0x20 || c >= 0x7f)
			if (!text__is_hidden(s, encode(c, s)))
				ok(false, "U+%04x is hidden", c);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		ok(text__is_hidden(s, encode(hidden[i], s)), "U+%04x is hidden", hidden[i]);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		ok(!text__is_hidden(s, encode(shown[i], s)), "U+%04x is not", shown[i]);
}

static const struct {
	const char *in, *out, *what;
} cleaned[] = {
	{ "", "", "nothing" },
	{ "main", "main", "plain" },
	{ "café → 日本 😀", "café → 日本 😀", "UTF-8 of two, three, four bytes" },
	{ "a\nb\tc\rd", "a?b?c?d", "newline, tab, return" },
	{ "\x1b[31mred\x1b[0m", "?[31mred?[0m", "terminal escapes" },
	{ "\x01\x1f\x7f ", "??? ", "C0 and DEL, not the space" },
	{ "\xc2\x9b"
	  "31m \xc2\x80 \xc2\x9f \xc2\xa0",
	  "?31m ? ? \xc2\xa0", "C1, not U+00A0" },
	{ "\x9b"
	  "31m",
	  FFFD "31m", "a raw C1 byte" },
	{ "\xff\xfe", FFFD FFFD, "each invalid byte by itself" },
	{ "x\xe2\x82", "x" FFFD FFFD, "cut at the end" },
	{ "\xe2\x82(", FFFD FFFD "(", "cut before a letter" },
	{ "\xed\xa0\x80", FFFD FFFD FFFD, "a surrogate" },
	{ "\"'\\<>&", "\"'\\<>&", "quotes are left alone" },
	{ "txt\u202egpj.exe", "txt?gpj.exe", "a change of the writing direction" },
	{ "a\u2066b\u2069c\u200ed\u061ce", "a?b?c?d?e", "others" },
};

static void test_clean(void)
{
	for (size_t i = 0; i < sizeof(cleaned) / sizeof(cleaned[0]); i++) {
		struct strbuf sb = STRBUF_INIT;

		text__add_clean(&sb, cleaned[i].in);
		is_str(strbuf__str(&sb), cleaned[i].out, "clean: %s", cleaned[i].what);
		strbuf__free(&sb);
	}
}

/* Cleaning clean text changes nothing, whatever the bytes were. */
static void test_clean_twice(void)
{
	unsigned seed = 1, wrong = 0;

	for (int run = 0; run < 2000; run++) {
		struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
		char in[33] = { 0 };

		for (int i = 0; i < 32; i++) {
			seed = seed * 1103515245 + 12345;
			in[i] = (char)((seed >> 16) % 255 + 1);
		}
		text__add_clean(&once, in);
		text__add_clean(&twice, strbuf__str(&once));
		wrong += strcmp(strbuf__str(&once), strbuf__str(&twice)) != 0;
		strbuf__free(&once);
		strbuf__free(&twice);
	}
	is_uint(wrong, 0, "cleaning twice is cleaning once, for 2,000 random names");
}

static void test_cut(void)
{
	is_uint(text__cut("short", 10), 5, "a short text is whole");
	is_uint(text__cut("short", 5), 5, "as one of just that length");
	is_uint(text__cut("a\xc3\xa9z", 2), 1, "no part of a sequence is left");
	is_uint(text__cut("a\xc3\xa9z", 3), 3, "a whole one is");
	is_uint(text__cut("\xf0\x9f\x98\x80", 3), 0, "four bytes");
	is_uint(text__cut("\x80\x80\x80\x80\x80\x80\x80", 6), 6,
		"bytes that are no UTF-8 are cut anywhere");
	is_uint(text__cut("", 0), 0, "nothing");
}

int main(void)
{
	test_cut();
	test_sequences();
	test_all_code_points();
	test_all_pairs();
	test_is_clean();
	test_hidden();
	test_clean();
	test_clean_twice();
	return tap__done();
}
