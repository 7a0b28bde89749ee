/* SPDX-License-Identifier: GPL-2.0 */
/* The growing byte string: content, growth, NUL, failed allocations. */
#include "base/strbuf.h"

#include <stdint.h>

#include "tests/tap.h"

static void test_empty(void)
{
	struct strbuf sb = STRBUF_INIT;

	is_str(strbuf__str(&sb), "", "an empty one is \"\"");
	ok(!sb.data, "… without memory");
	strbuf__reset(&sb);
	strbuf__free(&sb);
	ok(!sb.data && !sb.len && !sb.cap, "reset and free of an empty one");
}

static void test_add(void)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf__adds(&sb, "");
	ok(sb.data && !sb.data[0], "NUL-terminated after any add, even of nothing");
	strbuf__add(&sb, NULL, 0);
	is_uint(sb.len, 0, "nothing adds nothing");
	strbuf__adds(&sb, "abc");
	strbuf__addc(&sb, '-');
	strbuf__add(&sb, "x\0y", 3);
	is_uint(sb.len, 7, "length with a NUL inside");
	is_mem(sb.data, "abc-x\0y", 8, "content and NUL");
	strbuf__reset(&sb);
	is_str(strbuf__str(&sb), "", "reset empties");
	ok(sb.cap > 0, "… and keeps the memory");
	strbuf__addf(&sb, "%s=%d%%", "n", -5);
	is_str(strbuf__str(&sb), "n=-5%", "formats");
	strbuf__free(&sb);
}

static void test_growth(void)
{
	struct strbuf sb = STRBUF_INIT;
	bool right = true;

	for (int i = 0; i < 100000; i++)
		strbuf__addc(&sb, (char)('a' + i % 26));
	for (int i = 0; i < 100000; i++)
		right &= sb.data[i] == 'a' + i % 26;
	ok(right && sb.len == 100000 && !sb.data[100000], "100,000 single bytes");
	ok(sb.cap <= 4 * sb.len, "grows by a factor, not more than needed");
	strbuf__free(&sb);
}

/* Around each power of two, where the NUL would be the byte too many. */
static void test_boundaries(void)
{
	static char text[300];
	bool by_add = true, by_format = true;

	memset(text, 'z', sizeof(text) - 1);
	for (size_t len = 0; len < sizeof(text); len++) {
		struct strbuf a = STRBUF_INIT, f = STRBUF_INIT;

		strbuf__add(&a, text, len);
		strbuf__addf(&f, "%.*s", (int)len, text);
		by_add &= a.len == len && strlen(strbuf__str(&a)) == len && a.cap > len;
		by_format &= f.len == len && strlen(strbuf__str(&f)) == len && f.cap > len;
		strbuf__free(&a);
		strbuf__free(&f);
	}
	ok(by_add, "strbuf__add at every length to 299");
	ok(by_format, "strbuf__addf at every length to 299");
}

static void test_failure(void)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf__adds(&sb, "kept");
	strbuf__add(&sb, "?", SIZE_MAX - 2);
	ok(sb.failed, "a length that overflows fails");
	strbuf__adds(&sb, "more");
	strbuf__addf(&sb, "%d", 1);
	is_str(strbuf__str(&sb), "kept", "later calls do nothing");
	strbuf__reset(&sb);
	strbuf__adds(&sb, "new");
	is_str(strbuf__str(&sb), "new", "reset makes it usable again");
	ok(!sb.failed, "… and no longer failed");
	strbuf__free(&sb);
}

int main(void)
{
	test_empty();
	test_add();
	test_growth();
	test_boundaries();
	test_failure();
	return tap__done();
}
