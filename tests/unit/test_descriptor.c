/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The descriptor behind an epoll's data: from fdinfo texts, also hostile ones, and from this
 * process.
 */
#include "procfs/descriptor.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

#define HEAD "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1039\n"
#define FD8  "tfd:        8 events:       19 data:                8  pos:0 ino:40f sdev:d\n"
#define FD9  "tfd:        9 events: 8000001d data: 7ffd5ca0ff000009  pos:0 ino:1a2b sdev:9\n"
#define OLD  "tfd:       10 events:       19 data:               aa\n"

static const struct {
	const char *what, *text;
	uint64_t data;
	int fd;
	uint64_t inode;
} texts[] = {
	{ "a number", HEAD FD8 FD9 OLD, 8, 8, 0x40f },
	{ "a pointer", HEAD FD8 FD9 OLD, 0x7ffd5ca0ff000009, 9, 0x1a2b },
	{ "an old kernel's line", HEAD FD8 FD9 OLD, 0xaa, 10, 0 },
	{ "unknown data", HEAD FD8 FD9 OLD, 9, -1, 0 },
	{ "data of two descriptors", HEAD FD8 "tfd: 7 events: 1 data: 8\n", 8, -1, 0 },
	{ "data of three descriptors", FD8 FD8 FD8, 8, -1, 0 },
	{ "nothing", "", 8, -1, 0 },
	{ "no line", HEAD, 8, -1, 0 },
	{ "a line that is cut before its data", "tfd: 8 events: 19 data:", 8, -1, 0 },
	{ "a line without data", "tfd: 8 events: 19\ndata: 8\n", 8, -1, 0 },
	{ "a line without a number", "tfd: x events: 19 data: 8\n", 8, -1, 0 },
	{ "a negative number", "tfd: -1 events: 19 data: 8\n", 8, -1, 0 },
	{ "too large a number", "tfd: 4294967296 events: 19 data: 8\n", 8, -1, 0 },
	{ "another key", "xtfd: 8 events: 19 data: 8\n", 8, -1, 0 },
	{ "data above 64 bits, which saturates", "tfd: 3 data: ffffffffffffffffff\n", UINT64_MAX, 3,
	  0 },
	{ "blanks only", "   \n\n\n \n", 0, -1, 0 },
	{ "no end of line", "tfd: 8 events: 19 data: 8", 8, 8, 0 },
};

static void test_texts(void)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct epoll_item item = { .data = texts[i].data };
		char *exact = strdup(texts[i].text);

		epollinfo__parse(exact, &item, 1);
		is_int(item.fd, texts[i].fd, "%s: its descriptor", texts[i].what);
		if (item.fd >= 0)
			is_uint(item.inode, texts[i].inode, "%s: its inode", texts[i].what);
		free(exact);
	}
}

/* Random bytes: the sanitizer catches any access beyond. */
static void test_junk(void)
{
	static const char pieces[][8] = { "tfd:", " 8", "data:", "\n", "ino:", "-", "ff", " " };
	struct epoll_item item = { .data = 8 };
	char text[256];

	srand(1);
	for (int round = 0; round < 20000; round++) {
		char *exact;

		text[0] = 0;
		for (int i = rand() % 30; i > 0; i--)
			strcat(text, pieces[rand() % 8]);
		exact = strdup(text);
		epollinfo__parse(exact, &item, 1);
		free(exact);
	}
	ok(true, "20000 texts of junk are read");
}

static void add(int ep, int fd, uint64_t data)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = data };

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event))
		abort();
}

static void test_own(void)
{
	int ep = epoll_create1(0), a = eventfd(0, 0), b = eventfd(0, 0), c = eventfd(0, 0);
	struct epoll_item items[] = { { .data = 0xdeadbeefcafe },
				      { .data = (uint64_t)b },
				      { .data = 5555 } };

	add(ep, a, 0xdeadbeefcafe);
	add(ep, b, b);
	add(ep, c, 77);
	is_int(epollinfo__find(getpid(), gettid(), ep, items, 3), 0,
	       "this process's epoll is read");
	ok(items[0].fd == a && items[1].fd == b, "its descriptors are found");
	is_int(items[2].fd, -1, "an unregistered one is not");
	close(b);
	epollinfo__find(getpid(), gettid(), ep, items, 3);
	ok(items[0].fd == a && items[1].fd == -1, "nor is a closed one");
	ok(epollinfo__find(getpid(), gettid(), a, items, 3) == 0 && items[0].fd == -1,
	   "a descriptor that is no epoll has none");
	close(ep);
	is_int(epollinfo__find(getpid(), gettid(), ep, items, 1), -ENOENT, "nor has a closed one");
	is_int(epollinfo__find(1, gettid(), ep, items, 1), -ENOENT,
	       "nor a thread of another process");
	is_int(epollinfo__find(getpid(), gettid(), -1, items, 1), -ENOENT, "nor thread 0");
	close(a);
	close(c);
}

/* An X server that is grabbed leaves other clients' connections without EPOLLIN. */
static void test_members(void)
{
	int ep = epoll_create1(0), a = eventfd(0, 0), b = eventfd(0, 0);
	struct epoll_event quiet = { .events = EPOLLET };
	struct epoll_member members[2] = {};
	int first; /* the kernel lists them by the addresses of their files */

	add(ep, a, 1);
	epoll_ctl(ep, EPOLL_CTL_ADD, b, &quiet);
	is_int(epollinfo__members(getpid(), gettid(), ep, members, 2), 2, "an epoll's members");
	first = members[0].fd == b;
	ok(members[first].fd == a && members[first].events & EPOLLIN, "one asks for input");
	ok(members[!first].fd == b && !(members[!first].events & EPOLLIN),
	   "the other one does not");
	is_int(epollinfo__members(getpid(), gettid(), ep, members, 1), -E2BIG, "too many");
	close(a);
	close(b);
	close(ep);
}

static uint64_t time_ns(int ep, struct epoll_item *item, int *res)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t begin = clock__mono_ns(), ns;

		*res = epollinfo__find(getpid(), gettid(), ep, item, 1);
		ns = clock__mono_ns() - begin;
		best = ns < best ? ns : best;
	}
	return best;
}

/*
 * A program cannot use its epoll while we read it, so epolls with very many descriptors are not
 * read.
 */
static void test_many(void)
{
	struct rlimit limit = { 4096, 4096 };
	struct epoll_item item = { .data = 4711 };
	int ep = epoll_create1(0), fd = eventfd(0, 0), cnt = 0, res;
	uint64_t ns;

	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		skip(3, "the limit on descriptors cannot be raised");
		return;
	}
	add(ep, fd, 4711);
	for (; cnt < EPOLLINFO_FDS_MAX - 100; cnt++) {
		int dup_fd = dup(fd);

		add(ep, dup_fd, (uint64_t)dup_fd + 10000);
	}
	ns = time_ns(ep, &item, &res);
	ok(!res && item.fd == fd, "one of %d is found", cnt);
	diag("in %llu µs", (unsigned long long)ns / 1000);
	for (; cnt < 3000; cnt++)
		add(ep, dup(fd), 0);
	ns = time_ns(ep, &item, &res);
	is_int(res, -E2BIG, "among %d it is not searched", cnt);
	ok(ns < 300000, "which takes no time");
	diag("%llu µs", (unsigned long long)ns / 1000);
}

int main(void)
{
	test_texts();
	test_junk();
	test_own();
	test_members();
	test_many();
	return tap__done();
}
