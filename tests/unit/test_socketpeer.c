/* SPDX-License-Identifier: GPL-2.0 */
/* The other end of a connection, in made-up tables. test_waited_peers tests the kernel's own. */
#include "procfs/socket.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "procfs/descriptor.h"
#include "procfs/procinfo.h"
#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

#define HEAD                                                                                       \
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "      \
	"timeout inode\n"
#define REST " 01 00000000:00000000 00:00000000 00000000     0        0 "

/* Addresses are in the machine's byte order there, as words. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOOP "0100007F"
#define MAPS "0000000000000000FFFF0000"
#else
#define LOOP "7F000001"
#define MAPS "00000000000000000000FFFF"
#endif
#define NULL6 "00000000000000000000000000000000"

/* Of a client at 127.0.0.1:40000 (9C40) that connected to 127.0.0.1:6379 (18EB). */
static struct jank_rec_waited client(void)
{
	return (struct jank_rec_waited){ .family = AF_INET,
					 .type = SOCK_STREAM,
					 .state = 1,
					 .sport = 40000,
					 .dport = 6379,
					 .saddr = { 127, 0, 0, 1 },
					 .daddr = { 127, 0, 0, 1 } };
}

static const struct {
	const char *text, *what;
	uint64_t want;
} tables[] = {
	{ HEAD "   0: " LOOP ":9C40 " LOOP ":18EB" REST "11 1\n"
	       "   1: " LOOP ":18EB " LOOP ":9C40" REST "12 1\n",
	  "the other end, not our own", 12 },
	{ HEAD "   0: " LOOP ":18EB " LOOP ":9C41" REST "12 1\n", "another's connection", 0 },
	{ HEAD "   0: 00000000:18EB 00000000:0000" REST "13 1\n"
	       "   1: " LOOP ":18EB " LOOP ":9C40" REST "0 1\n",
	  "not accepted: the listener", 13 },
	{ HEAD "   0: 00000000:18EB 00000000:0000" REST "13 1\n"
	       "   1: " LOOP ":18EB " LOOP ":9C40" REST "14 1\n",
	  "accepted: not the listener", 14 },
	{ HEAD "   0: 00000000:18EC 00000000:0000" REST "13 1\n", "another port", 0 },
	{ HEAD "   0: " MAPS LOOP ":18EB " MAPS LOOP ":9C40" REST "15 1\n", "a mapped address",
	  15 },
	{ HEAD "   0: " NULL6 ":18EB " NULL6 ":0000" REST "16 1\n", "a socket for both", 16 },
	{ HEAD, "no socket", 0 },
	{ "", "nothing", 0 },
	{ ":", "a torn line", 0 },
	{ HEAD "   0: " LOOP ":18EB " LOOP ":9C40 01 0000", "a line truncated later", 0 },
	{ HEAD "   0: " LOOP ":18EB " LOOP, "one without a port", 0 },
	{ HEAD "   0: 0100007:18EB " LOOP ":9C40" REST "12 1\n", "a short address", 0 },
	{ HEAD "   0: " NULL6 "00000000:18EB " LOOP ":9C40" REST "12 1\n", "a long address", 0 },
	{ HEAD "   0: -100007F:18EB " LOOP ":9C40" REST "12 1\n", "no number", 0 },
	{ HEAD "   0:\n: " LOOP ":18EB " LOOP ":9C40" REST "17 1\n", "a line that ends early", 17 },
};

static void test_tables(void)
{
	const struct jank_rec_waited raw = client();

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char *text = strdup(tables[i].text);

		is_uint(socketpeer__parse(text, &raw), tables[i].want, "%s", tables[i].what);
		free(text);
	}
}

static size_t length_of(const struct jank_rec_waited *raw)
{
	struct strbuf sb = STRBUF_INIT;
	size_t len;

	socketpeer__add(&sb, raw);
	len = sb.len;
	strbuf__free(&sb);
	return len;
}

static void is_peer(const struct jank_rec_waited *raw, const char *want, const char *what)
{
	struct strbuf sb = STRBUF_INIT;

	socketpeer__add(&sb, raw);
	is_str(strbuf__str(&sb), want, "%s", what);
	strbuf__free(&sb);
}

static void test_words(void)
{
	struct jank_rec_waited raw = client();

	is_peer(&raw, "tcp 127.0.0.1:6379", "a connection");
	raw.family = AF_INET6;
	inet_pton(AF_INET6, "2001:db8::7", raw.daddr);
	is_peer(&raw, "tcp [2001:db8::7]:6379", "of IPv6");
	inet_pton(AF_INET6, "::ffff:10.0.0.7", raw.daddr);
	is_peer(&raw, "tcp 10.0.0.7:6379", "a mapped address");
	raw.type = SOCK_RAW;
	is_peer(&raw, "ip 10.0.0.7:6379", "neither TCP nor UDP");
	memset(raw.daddr, 0, sizeof(raw.daddr));
	is_peer(&raw, "", "no address");
	raw = (struct jank_rec_waited){ .family = 77, .dport = 1, .daddr = { 1 } };
	is_peer(&raw, "", "another family's");
	raw = (struct jank_rec_waited){ .family = AF_UNIX };
	is_peer(&raw, "", "a unix socket without a name");
	memset(raw.name, 'n', sizeof(raw.name));
	is_uint(length_of(&raw), strlen("unix ") + sizeof(raw.name), "a name without an end");
}

static void test_elsewhere(void)
{
	struct jank_rec_waited raw = client();

	raw.daddr[0] = 10;
	is_uint(socketpeer__inode("/proc", getpid(), &raw), 0, "a remote one is not searched");
	is_uint(sockdiag__unix_peer(0), 0, "no unix socket");
	is_uint(sockdiag__unix_peer(UINT64_MAX), 0, "no socket with such a number");
}

static void fake_fd(const char *dir, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "mkdir -p \"$D/%s/fd\" && ln -s '%s' \"$D/%s/fd/3\"",
		 dir, to, dir);
	if (system(command))
		abort();
}

static void test_holder(void)
{
	const char *proc = scratch__path("");
	uint64_t now = NS_PER_SEC;

	fake_fd("51", "socket:[4711]");
	fake_fd("52", "socket:[4711]");
	fake_fd("53", "socket:[4712]");
	fake_fd("54", "/tmp/socket:[4713]");
	is_int(socketholder__find(proc, 4711, 52, 51, now), 52, "the right process");
	is_int(socketholder__find(proc, 4711, 51, 52, now), 52, "is cached");
	is_int(socketholder__find(proc, 4711, 0, 52, now + 2 * NS_PER_SEC), 51, "for a while");
	is_int(socketholder__find(proc, 4712, 99, 53, now), 53, "ourselves, if there is no other");
	is_int(socketholder__find(proc, 4713, 0, 0, now), 0, "nobody");
	is_int(socketholder__find("/nowhere", 4714, 1, 2, now), 0, "nowhere");
}

static void put_thread(const char *tid, const char *numbers)
{
	char name[64], text[256];

	snprintf(name, sizeof(name), "mkdir -p \"$D/60/task/%s\"", tid);
	if (system(name))
		abort();
	snprintf(name, sizeof(name), "60/task/%s/status", tid);
	snprintf(text, sizeof(text), "Name:\tNSpid:\t5\nTgid:\t60\nNSpid:\t%s\nNSpgid:\t1\n",
		 numbers);
	scratch__write_text(name, text);
	snprintf(name, sizeof(name), "60/task/%s/comm", tid);
	scratch__write_text(name, "a\nname that is too long\n");
}

static void test_threads(void)
{
	char comm[JANK_COMM_SZ + 1];

	put_thread("60", "60\t1");
	put_thread("61", "61\t900\t16");
	is_uint(threadname__by_ns_tid(scratch__path(""), 60, 16), 61, "by the innermost number");
	is_uint(threadname__by_ns_tid(scratch__path(""), 60, 900), 0, "not by one between");
	is_uint(threadname__by_ns_tid(scratch__path(""), 60, 61), 0, "nor by the machine's");
	is_uint(threadname__by_ns_tid(scratch__path(""), 59, 16), 0, "no such process");
	is_int(threadname__read(scratch__path(""), 60, 61, comm), 0, "a name");
	is_str(comm, "a\nname that is t", "is cut like the kernel's, with any bytes");
	ok(threadname__read(scratch__path(""), 60, 62, comm) < 0, "no such thread");
}

int main(void)
{
	scratch__init();
	test_tables();
	test_words();
	test_elsewhere();
	test_holder();
	test_threads();
	return tap__done();
}
