/* SPDX-License-Identifier: GPL-2.0 */
/* A descriptor in words: this process's own descriptors of each kind, and made-up ones. */
#include "procfs/descriptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/vm_sockets.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "procfs/socket.h"
#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/scratch.h"

static struct strbuf out = STRBUF_INIT;

static const char *target(int fd)
{
	strbuf__reset(&out);
	return fdtarget__add(&out, getpid(), gettid(), fd, 0) ? "failed" : strbuf__str(&out);
}

static bool begins(const char *str, const char *with)
{
	return !strncmp(str, with, strlen(with));
}

static void test_kinds(void)
{
	struct itimerspec period = { { 0, 16700000 }, { 1, 0 } };
	int fds[2], timer = timerfd_create(CLOCK_MONOTONIC, 0), event = eventfd(0, 0), fd;
	sigset_t none;

	sigemptyset(&none);
	ok(begins(target(event), "eventfd"), "an eventfd: %s", strbuf__str(&out));
	is_str(target(timer), "timerfd", "a timerfd without a time");
	timerfd_settime(timer, 0, &period, NULL);
	is_str(target(timer), "timerfd every 16.7 ms", "a periodic timerfd");
	is_str(target(epoll_create1(0)), "epoll", "an epoll");
	is_str(target(inotify_init1(0)), "inotify", "an inotify");
	is_str(target(signalfd(-1, &none, 0)), "signalfd", "a signalfd");
	fd = syscall(SYS_pidfd_open, getpid(), 0);
	target(fd);
	ok(begins(strbuf__str(&out), "pidfd ") && atoi(strbuf__str(&out) + 6) == getpid(),
	   "a pidfd: %s", strbuf__str(&out));
	if (!pipe(fds))
		ok(begins(target(fds[0]), "pipe:["), "a pipe: %s", strbuf__str(&out));
	is_str(target(open("/dev/null", O_RDONLY)), "/dev/null", "a file has its path");
	is_str(target(4000), "failed", "a descriptor that is not open has none");
}

/* Each way to identify what the descriptor was. */
static void test_meant(void)
{
	int fds[] = { open("/dev/null", O_RDONLY), eventfd(0, 0),
		      (int)syscall(SYS_memfd_create, "heap", 0), epoll_create1(0) };
	struct stat st;

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (fstat(fds[i], &st))
			abort();
		strbuf__reset(&out);
		is_int(fdtarget__add(&out, getpid(), gettid(), fds[i], st.st_ino), 0,
		       "the same object: %s", strbuf__str(&out));
		is_int(fdtarget__add(&out, getpid(), gettid(), fds[i], st.st_ino + 1), -ESTALE,
		       "and another one");
		close(fds[i]);
	}
}

static void test_replaced(void)
{
	struct stat st;
	int fds[2];

	if (pipe(fds) || fstat(fds[0], &st))
		abort();
	strbuf__reset(&out);
	is_int(fdtarget__add(&out, getpid(), gettid(), fds[0], st.st_ino), 0, "the same file");
	is_int(fdtarget__add(&out, getpid(), gettid(), fds[0], st.st_ino + 1), -ESTALE,
	       "now another file");
	is_int(fdtarget__add(&out, getpid(), gettid(), eventfd(0, 0), st.st_ino), -ESTALE,
	       "an eventfd in place of a pipe");
	is_int(fdtarget__add(&out, getpid(), gettid(), open("/dev/null", O_RDONLY), st.st_ino),
	       -ESTALE, "or a file with a path");
	close(fds[0]);
	is_int(fdtarget__add(&out, getpid(), gettid(), fds[0], 0), -EBADF, "now closed");
	is_int(fdtarget__add(&out, 1, gettid(), fds[1], 0), -EBADF, "a thread of another process");
	close(fds[1]);
	is_int(socketinfo__add(&out, getpid(), open("/dev/null", O_RDONLY), 1), -ESTALE,
	       "no longer a socket");
}

static int bound(int family, int type, const char *text, uint16_t *port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr *addr = family == AF_INET ? (void *)&four : (void *)&six;
	socklen_t len = family == AF_INET ? sizeof(four) : sizeof(six);
	int fd = socket(family, type, 0);

	inet_pton(family, text,
		  family == AF_INET ? (void *)&four.sin_addr : (void *)&six.sin6_addr);
	if (fd < 0 || bind(fd, addr, len) || getsockname(fd, addr, &len))
		return -1;
	*port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	return fd;
}

/* Connects two sockets and reads both sides. */
static void test_tcp(int family, const char *text, const char *shown)
{
	uint16_t port;
	int listener = bound(family, SOCK_STREAM, text, &port), client, server;
	struct sockaddr_storage addr, from;
	socklen_t len = sizeof(addr);
	char want[128];
	unsigned from_port;

	if (listener < 0) {
		skip(3, "this address family is not available");
		return;
	}
	listen(listener, 1);
	snprintf(want, sizeof(want), "tcp %s:%u listening", shown, port);
	is_str(target(listener), want, "a listening socket");
	client = socket(family, SOCK_STREAM, 0);
	getsockname(listener, (struct sockaddr *)&addr, &len);
	if (connect(client, (struct sockaddr *)&addr, len))
		abort();
	server = accept(listener, NULL, NULL);
	len = sizeof(from);
	getsockname(client, (struct sockaddr *)&from, &len);
	from_port = ntohs(((struct sockaddr_in *)&from)->sin_port);
	snprintf(want, sizeof(want), "tcp %s:%u->%s:%u", shown, port, shown, from_port);
	is_str(target(server), want, "its connection");
	snprintf(want, sizeof(want), "tcp %s:%u->%s:%u", shown, from_port, shown, port);
	is_str(target(client), want, "the other end's");
	close(client);
	close(server);
	close(listener);
}

static void test_udp(void)
{
	uint16_t port;
	int fd = bound(AF_INET, SOCK_DGRAM, "127.0.0.1", &port);
	char want[64];

	snprintf(want, sizeof(want), "udp 127.0.0.1:%u", port);
	is_str(target(fd), want, "a socket without a peer");
	close(fd);
	ok(begins(target(socket(AF_NETLINK, SOCK_RAW, 0)), "netlink route"), "a netlink socket");
}

static struct sockaddr_un named(const char *name, size_t len, socklen_t *ret_len)
{
	struct sockaddr_un ret = { .sun_family = AF_UNIX };

	memcpy(ret.sun_path, name, len);
	*ret_len = offsetof(struct sockaddr_un, sun_path) + len;
	return ret;
}

static void test_unix(void)
{
	char path[96], want[256];
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0),
	    server;
	struct sockaddr_un addr;
	socklen_t len;
	int pair[2];

	snprintf(path, sizeof(path), "%s", scratch__path("s"));
	addr = named(path, strlen(path), &len);
	if (bind(listener, (struct sockaddr *)&addr, len) || listen(listener, 1) ||
	    connect(client, (struct sockaddr *)&addr, len))
		abort();
	server = accept(listener, NULL, NULL);
	snprintf(want, sizeof(want), "unix %s listening", path);
	is_str(target(listener), want, "a listening one");
	snprintf(want, sizeof(want), "unix %s, peer pid %d", path, getpid());
	is_str(target(server), want, "its connection, with the connecting process");
	snprintf(want, sizeof(want), "unix ->%s, peer pid %d", path, getpid());
	is_str(target(client), want, "the other end's");
	close(listener);
	close(client);
	close(server);
	if (!socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		is_str(target(pair[0]), "unix pair", "a pair; its credentials do not count");
	addr = named("\0jank\0test", 10, &len);
	listener = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (bind(listener, (struct sockaddr *)&addr, len))
		abort();
	is_str(target(listener), "unix @jank@test", "an abstract name");
	is_str(target(socket(AF_UNIX, SOCK_DGRAM, 0)), "unix", "no name");
}

static void test_other_process(void)
{
	uint16_t port;
	int fd = bound(AF_INET, SOCK_DGRAM, "127.0.0.1", &port);
	pid_t pid = child__start(NULL, NULL);
	char want[64];

	strbuf__reset(&out);
	is_int(fdtarget__add(&out, pid, pid, fd, 0), 0, "another process's socket");
	snprintf(want, sizeof(want), "udp 127.0.0.1:%u", port);
	is_str(strbuf__str(&out), want, "is resolved");
	child__end(pid);
	ok(fdtarget__add(&out, pid, pid, fd, 0) < 0, "but not after its end");
}

static const struct {
	const char *link, *fdinfo, *want;
} links[] = {
	{ "anon_inode:[eventfd]", "eventfd-count: 0\neventfd-id: 12\n", "eventfd 12" },
	{ "anon_inode:[eventfd]", "eventfd-count: 0\n", "eventfd" },
	{ "anon_inode:[eventfd]", "eventfd-id:", "eventfd 0" },
	{ "anon_inode:[eventfd]", "xeventfd-id: 3\n", "eventfd" },
	{ "anon_inode:[pidfd]", "Pid:\t77\nNSpid:\t77\n", "pidfd 77" },
	{ "pidfd:[4211]", "Pid:\t77\n", "pidfd 77" },
	{ "anon_inode:[pidfd]", "Pid:\t-1\n", "pidfd" },
	{ "anon_inode:[timerfd]", "it_interval: (1, 0)\n", "timerfd every 1.00 s" },
	{ "anon_inode:[timerfd]", "it_interval: (0, 0)\n", "timerfd" },
	{ "anon_inode:[timerfd]", "it_interval: (-1, 1)\n", "timerfd" },
	{ "anon_inode:[timerfd]", "it_interval: (99999999999999999999, 1)\n", "timerfd" },
	{ "anon_inode:[timerfd]", "it_interval: (1, 1000000000)\n", "timerfd" },
	{ "anon_inode:[timerfd]", "it_interval: (1", "timerfd" },
	{ "anon_inode:[io_uring]", "", "io_uring" },
	{ "anon_inode:inotify", "", "inotify" },
	{ "anon_inode:", "", "" },
	{ "anon_inode:[", "", "" },
	{ "/tmp/a\nb (deleted)", "", "/tmp/a\nb (deleted)" },
	{ "", "", "" },
};

static void test_links(void)
{
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		char *link = strdup(links[i].link), *info = strdup(links[i].fdinfo);

		strbuf__reset(&out);
		fdtarget__add_link(&out, link, info);
		is_str(strbuf__str(&out), links[i].want, "link %zu", i);
		free(link);
		free(info);
	}
}

static void is_facts(const struct socket_facts *facts, const char *want)
{
	strbuf__reset(&out);
	socketinfo__add_facts(&out, facts);
	is_str(strbuf__str(&out), want, "%s", want);
}

static void test_facts(void)
{
	struct socket_facts facts = { .domain = AF_INET6, .protocol = IPPROTO_UDP };
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&facts.local;
	struct sockaddr_vm *vm = (struct sockaddr_vm *)&facts.local;

	*six = (struct sockaddr_in6){ .sin6_family = AF_INET6,
				      .sin6_port = htons(53),
				      .sin6_scope_id = 2 };
	inet_pton(AF_INET6, "fe80::1", &six->sin6_addr);
	facts.local_len = sizeof(*six);
	is_facts(&facts, "udp [fe80::1%2]:53");
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &six->sin6_addr);
	is_facts(&facts, "udp 10.0.0.1:53");
	facts.protocol = 200;
	facts.local_len = 0;
	is_facts(&facts, "ip");
	facts = (struct socket_facts){ .domain = AF_VSOCK,
				       .local_len = sizeof(*vm),
				       .is_listening = true };
	*vm = (struct sockaddr_vm){ .svm_family = AF_VSOCK, .svm_cid = 3, .svm_port = 1024 };
	is_facts(&facts, "vsock 3:1024 listening");
	is_facts(&(struct socket_facts){ .domain = AF_PACKET }, "packet socket");
	is_facts(&(struct socket_facts){ .domain = 12345 }, "socket of family 12345");
	is_facts(&(struct socket_facts){ .domain = AF_NETLINK, .protocol = 99 }, "netlink 99");
	facts = (struct socket_facts){ .domain = AF_UNIX, .has_peer = true, .peer_pid = 5 };
	facts.local_len = sizeof(struct sockaddr_un) + 1;
	is_facts(&facts, "unix pair");
}

static void test_cost(void)
{
	uint16_t port;
	int fd = bound(AF_INET, SOCK_DGRAM, "127.0.0.1", &port);
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t begin = clock__mono_ns(), ns;

		target(fd);
		ns = clock__mono_ns() - begin;
		best = ns < best ? ns : best;
	}
	ok(best < 300000, "a socket takes less than 0.3 ms");
	diag("%llu µs", (unsigned long long)best / 1000);
	close(fd);
}

int main(void)
{
	scratch__init();
	test_kinds();
	test_meant();
	test_replaced();
	test_tcp(AF_INET, "127.0.0.1", "127.0.0.1");
	test_tcp(AF_INET6, "::1", "[::1]");
	test_udp();
	test_unix();
	test_other_process();
	test_links();
	test_facts();
	test_cost();
	strbuf__free(&out);
	return tap__done();
}
