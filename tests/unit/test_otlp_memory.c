/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Out of memory at any allocation: a body of OTLP is whole or -ENOMEM, and nothing leaks.
 * mk/test.mk wraps malloc.
 */
#include "tests/tap.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/otlp_fixture.h"

#define ALLOCATIONS_MAX 1000000

static int encode(struct otlp_batch *b, const char *part, long n)
{
	int res;

	strbuf__free(&b->body);
	allocations_left = n;
	res = otlp__encode_part(b, part);
	allocations_left = -1;
	return res;
}

static void test_part(struct otlp_batch *b, const char *part)
{
	struct strbuf want = STRBUF_INIT;
	long n = 0, wrong = 0;
	int res;

	encode(b, part, -1);
	strbuf__add(&want, b->body.data, b->body.len);
	while ((res = encode(b, part, n)) && n++ < ALLOCATIONS_MAX)
		wrong += res != -ENOMEM;
	ok(n > 1 && !wrong, "%s fail at each of %ld allocations", part, n);
	ok(!res && b->body.len == want.len && !memcmp(b->body.data, want.data, want.len),
	   "then they are whole");
	strbuf__free(&want);
}

int main(void)
{
	struct otlp_batch b = {};

	otlp__add_block(&b, "chain");
	otlp__add_block(&b, "hang");
	otlp__add_block(&b, "cpu");
	test_part(&b, "logs");
	test_part(&b, "metrics");
	test_part(&b, "profiles");
	otlp__empty(&b);
	return tap__done();
}
