/* SPDX-License-Identifier: GPL-2.0 */
/* A mark's fields: the expressions that say what to read, and the texts that were read. */
#include <stdint.h>

#include "catalogue/catalogue.h"
#include "tests/tap.h"
#include "tests/unit/catalogue_fixture.h"

static const struct {
	const char *view, *fault; /* NULL: valid */
} views[] = {
	{ "arg0", NULL },
	{ " u8  *( arg4+0x10 ) ", NULL },
	{ "***(arg0)", NULL },
	{ "****arg0", NULL },
	{ "symbol(**(arg0 + 8 - 16))", NULL },
	{ "text(arg0 + 8)", NULL },
	{ "text(***arg0)", NULL },
	{ "text16(*(arg0 + 8) + 24)", NULL },
	{ "*****arg0", "at most 4 reads" },
	{ "text(****arg0)", "at most 3 reads" },
	{ "arg5", "an argument (arg0 to arg4), * or (" },
	{ "arg", "an argument" },
	{ "arg00", "an argument" },
	{ "", "an argument" },
	{ "*", "an argument" },
	{ "0x10", "an argument" },
	{ "arg0 + 8", "a read around the sum" },
	{ "u32 *arg0 + 8", "a read around the sum" },
	{ "*(arg0 + arg1)", "an offset in bytes" },
	{ "*(arg0 +)", "an offset in bytes" },
	{ "*(arg0 + 8", "at its end there should be )" },
	{ "*(arg0 + 2000000)", "an offset of at most" },
	{ "*(arg0 + 1000000 + 1000000)", "an offset of at most" },
	{ "*(arg0 + 99999999999999999999)", "an offset of at most" },
	{ "u24 arg0", "an argument" },
	{ "u32arg0", "an argument" },
	{ "symbol arg0", "there should be (" },
	{ "symbol(u32 arg0)", "an argument" },
	{ "symbol(arg0", "there should be )" },
	{ "colour(arg0)", "an argument" },
	{ "arg0 arg1", "at \"arg1\" there should be nothing more" },
	{ "enum(e)", "the name of an [enum NAME]" },
	{ "((((((((((((((((((arg0))))))))))))))))))", "fewer levels" },
	{ "*((((((((((((((((arg0", "fewer levels" },
};

static void test_views(void)
{
	for (size_t i = 0; i < LEN(views); i++) {
		struct catalogue *cat = NULL;
		char text[400];
		struct err err;
		int code;

		snprintf(text, sizeof(text), ROW "mark = f\n\twhat = %s\n", views[i].view);
		code = fixture__open(text, &cat, &err);
		if (views[i].fault)
			has_str(code ? err.msg : "(taken)", views[i].fault, "refused: %s",
				views[i].view);
		else
			is_int(code, 0, "taken: %s %s", views[i].view, err.msg);
		if (!code)
			catalogue__close(cat);
	}
}

static const struct {
	const char *what;
	uint16_t utf16[JANK_MESSAGE_TEXT_SZ / 2];
	const char *utf8;
} texts[] = {
	{ "plain", { 'j', 'a', 'n', 'k' }, "jank" },
	{ "two, three and four bytes", { 0xe4, 0x20ac, 0xd83d, 0xde00 }, "ä€😀" },
	{ "half a pair",
	  { 'a', 0xdc00, 0xd800, 'b' },
	  "a\xef\xbf\xbd\xef\xbf\xbd"
	  "b" },
	{ "a pair cut off", { 'a', 0xd83d }, "a" },
	{ "nothing", { 0 }, "" },
};

static void test_texts(void)
{
	struct catalogue_field wide = { .view = VIEW_TEXT, .bits = 16 };
	struct catalogue_field narrow = { .view = VIEW_TEXT, .bits = 8 };
	char raw[JANK_MESSAGE_TEXT_SZ], text[CATALOGUE_TEXT_SZ];

	for (size_t i = 0; i < LEN(texts); i++) {
		catalogue_field__text(&wide, (const char *)texts[i].utf16, text);
		is_str(text, texts[i].utf8, "UTF-16, %s", texts[i].what);
	}
	memset(raw, 0xff, sizeof(raw));
	catalogue_field__text(&wide, raw, text);
	is_uint(strlen(text), sizeof(text) - 1, "as long as can be");
	memset(raw, 'x', sizeof(raw));
	catalogue_field__text(&narrow, raw, text);
	is_uint(strlen(text), sizeof(raw), "a text without an end");
}

int main(void)
{
	test_views();
	test_texts();
	return tap__done();
}
