/* SPDX-License-Identifier: GPL-2.0 */
/* What the answers of an OTLP backend say: all taken, some refused, a warning, no OTLP. */
#include "export/backend.h"

#include <errno.h>

#include "base/text.h"
#include "tests/tap.h"

static struct {
	uint64_t rejected;
	struct err why;
} answer;

static int check(const void *body, size_t len)
{
	memset(&answer, 0, sizeof(answer));
	return otlp_backend.check(&otlp_backend.parts[1], body, len, &answer.rejected, &answer.why);
}

#define CHECK(bytes) check(bytes, sizeof(bytes) - 1)

static void test_taken(void)
{
	ok(!CHECK("") && !answer.rejected && !*answer.why.msg, "an empty body: all is taken");
	ok(!CHECK("\x0a\x00") && !answer.rejected && !*answer.why.msg, "as with an empty message");
	ok(!CHECK("\x0a\x06\x12\x04slow") && !answer.rejected, "a message alone refuses nothing");
	has_str(answer.why.msg, "\"slow\"", "it is passed on");
	ok(!CHECK("\x7a\x02hi\x0a\x00"), "fields of later versions are ignored");
}

static void test_refused(void)
{
	ok(!CHECK("\x0a\x08\x08\x03\x12\x04size") && answer.rejected == 3, "three are refused");
	has_str(answer.why.msg, "refused 3 data points for good: \"size\"", "with the reason");
	ok(!CHECK("\x0a\x02\x08\x01") && answer.rejected == 1, "a reason may be missing");
	is_int(CHECK("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -EBADMSG,
	       "no backend refuses -1");
	ok(!answer.rejected, "nothing is counted then");
}

static void test_hostile(void)
{
	char body[4096] = "\x0a\xfd\x1f\x08\x01\x12\xf8\x1f";

	ok(!CHECK("\x0a\x09\x08\x01\x12\x05\xff\n\x1b[m") && answer.rejected == 1, "any bytes");
	ok(text__is_clean(answer.why.msg), "the reason can be shown");
	ok(!strpbrk(answer.why.msg, "\n\x1b"), "without control bytes");
	memset(body + 8, 'x', sizeof(body) - 8);
	ok(!check(body, sizeof(body)) && answer.rejected == 1, "a long reason");
	ok(strlen(answer.why.msg) < 400, "is cut");
	is_int(CHECK("<html>not found</html>"), -EBADMSG, "a page is no answer");
	has_str(answer.why.msg, "does the URL lead to", "the message has a remedy");
	is_int(CHECK("{\"partialSuccess\":{}}"), -EBADMSG, "nor is JSON");
	is_int(CHECK("\x0a\x7f\x08\x01"), -EBADMSG, "nor is what ends too early");
	is_int(CHECK("\x0a\xff\xff\xff\xff\x0f"), -EBADMSG, "or claims 4 GB");
}

int main(void)
{
	test_taken();
	test_refused();
	test_hostile();
	return tap__done();
}
