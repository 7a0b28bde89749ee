/* SPDX-License-Identifier: GPL-2.0 */
/* Who may ask a server for what, and where it may listen. */
#include "serve/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "serve/address.h"
#include "tests/tap.h"
#include "tests/unit/scratch.h"

static void test_token(void)
{
	char a[TOKEN_LEN + 1], b[TOKEN_LEN + 1], longer[TOKEN_LEN + 2];

	is_int(token__make(a), 0, "a token is made");
	token__make(b);
	is_int(strspn(a, "0123456789abcdef"), TOKEN_LEN, "of 32 digits");
	ok(strcmp(a, b), "and each is another one");
	ok(token__is(a, a) && !token__is(a, b) && !token__is(a, NULL) && !token__is(a, ""),
	   "only itself is accepted");
	snprintf(longer, sizeof(longer), "%s0", a);
	ok(!token__is(a, longer), "not with one more digit");
	for (int i = 0; i < TOKEN_LEN; i++) {
		memcpy(b, a, sizeof(b));
		b[i] ^= 1;
		if (token__is(a, b))
			ok(false, "digit %d is compared", i);
	}
}

static void test_host(void)
{
	static const char *const own[] = { "127.0.0.1:7390", "127.0.0.1", "127.1.2.3:1",
					   "localhost:8080", "LocalHost", "[::1]:7390",
					   "[::1]" };
	static const char *const others[] = { "",
					      "evil.example",
					      "evil.example:7390",
					      "127.0.0.1.evil.example",
					      "localhost.evil.example",
					      "localhost@evil.example",
					      "127.0.0.1:7390@evil.example",
					      "127.0.0.1:",
					      "127.0.0.1:123456",
					      "127.0.0.1:a",
					      "192.168.0.1:7390",
					      "0.0.0.0:7390",
					      "2130706433",
					      "[::1]x",
					      "[::2]",
					      "::1" };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		ok(request__is_own_host(own[i]), "host '%s' is ours", own[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ok(!request__is_own_host(others[i]), "host '%s' is not", others[i]);
	ok(!request__is_own_host(NULL), "nor none");
}

static void test_source(void)
{
	static const struct {
		struct request_source source;
		bool may;
		const char *what;
	} cases[] = {
		{ { "a:1", "http://a:1", "same-origin" }, true, "our page" },
		{ { "a:1", NULL, NULL }, true, "a program" },
		{ { "a:1", "http://a:2", NULL }, false, "another port" },
		{ { "a:1", "https://a:1", NULL }, false, "another scheme" },
		{ { "a:1", "null", NULL }, false, "a sandbox" },
		{ { "a:1", "http://a:1.evil", NULL }, false, "a longer name" },
		{ { "a:1", NULL, "cross-site" }, false, "another site" },
		{ { "a:1", NULL, "same-site" }, false, "another port of the site" },
		{ { "a:1", NULL, "none" }, false, "an address that was typed" },
		{ { NULL, "http://a:1", NULL }, false, "no host" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ok(request__is_own_page(&cases[i].source) == cases[i].may, "%s may%s ask",
		   cases[i].what, cases[i].may ? "" : " not");
}

static void test_number(void)
{
	uint64_t v = 7;

	ok(request__number("0", &v) && v == 0, "0");
	ok(request__number("9999999999999999999", &v) && v == 9999999999999999999ull, "19 digits");
	ok(!request__number("12345678901234567890", &v), "20 are too many");
	ok(!request__number("", &v) && !request__number(NULL, &v) && !request__number("-1", &v) &&
		   !request__number("1 ", &v) && !request__number("0x1", &v) &&
		   !request__number("1%32", &v),
	   "nothing else");
}

static void test_parse(void)
{
	static const char *const bad[] = { "",
					   "7390",
					   "127.0.0.1",
					   "127.0.0.1:",
					   "127.0.0.1:x",
					   "127.0.0.1:65536",
					   "0.0.0.0:80",
					   "192.168.1.1:80",
					   "[::]:80",
					   "[fe80::1]:1",
					   "::1:80",
					   "localhost:80",
					   "unix:",
					   "[::1:80",
					   "127.0.0.1:-1" };
	struct address address;
	struct err err = {};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.exit = 0;
		ok(address__parse(bad[i], &address, &err) == -EINVAL && err.exit == JANK_EXIT_USAGE,
		   "'%s' is refused: %s", bad[i], err.msg);
	}
	is_int(address__parse("127.0.0.1:7390", &address, &err), 0, "a port of IPv4");
	is_int(address.port, 7390, "is known");
	is_int(address__parse("[::1]:1", &address, &err), 0, "a port of IPv6");
	is_int(address__parse("unix:/x/y", &address, &err), 0, "a path");
	is_str(((struct sockaddr_un *)&address.sa)->sun_path, "/x/y", "is known");
}

static void test_listen(void)
{
	struct address first, second;
	struct err err = {};
	char text[128];
	struct stat st;
	int a, b;

	snprintf(text, sizeof(text), "unix:%s", scratch__path("s"));
	address__parse(text, &first, &err);
	a = address__listen(&first, &err);
	ok(a >= 0 && !stat(scratch__path("s"), &st) && (st.st_mode & 0777) == 0600,
	   "a Unix socket is for its owner");
	ok(address__listen(&first, &err) == -EADDRINUSE, "and used once: %s", err.msg);
	close(a);
	a = address__listen(&first, &err);
	ok(a >= 0, "one without a server is replaced");
	address__remove(&first);
	ok(stat(scratch__path("s"), &st), "it is removed at the end");
	close(a);
	scratch__write_text("s", "x");
	ok(address__listen(&first, &err) == -EEXIST, "a file is not replaced: %s", err.msg);

	address__parse("127.0.0.1:0", &first, &err);
	a = address__listen(&first, &err);
	ok(a >= 0 && first.port, "port 0 is a free one");
	snprintf(text, sizeof(text), "127.0.0.1:%u", first.port);
	address__parse(text, &second, &err);
	b = address__listen(&second, &err);
	ok(b == -EADDRINUSE, "a port is used once: %s", err.msg);
	close(a);
}

int main(void)
{
	scratch__init();
	test_token();
	test_host();
	test_source();
	test_number();
	test_parse();
	test_listen();
	return tap__done();
}
