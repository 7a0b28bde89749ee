/* SPDX-License-Identifier: GPL-2.0 */
/* Peers that were waited for, on this machine: at the other ends of this process's sockets. */
#include "enrich/block_facts.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/child.h"
#include "tests/unit/sock_diag.h"
#include "tests/unit/waited_fixture.h"

static void set_unix(struct jank_rec_waited *raw, const char *name, pid_t peer)
{
	raw->hdr.flags |= JANK_WAITED_SOCKET;
	raw->family = AF_UNIX;
	raw->type = SOCK_STREAM;
	raw->peer_pid = (uint32_t)peer;
	snprintf(raw->name, sizeof(raw->name), "%s", name);
}

static void close_one(void *arg)
{
	prctl(PR_SET_NAME, "peer");
	close(*(int *)arg);
}

/* A wait for a connection's first end. */
static struct jank_rec_waited open_pair(int pair[2])
{
	struct jank_rec_waited raw;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	raw = record_of(pair[0]);
	set_unix(&raw, "", getpid());
	return raw;
}

/*
 * The kernel names this process for both ends, because it made them; who holds the other end must
 * be found.
 */
static void test_pair(void)
{
	struct jank_rec_waited raw;
	struct wait_object *waited;
	int pair[2];
	pid_t child;

	if (!sock_diag__has(AF_UNIX, 0))
		return skip(4, "this kernel has no module to tell of unix sockets");
	raw = open_pair(pair);
	child = child__start(close_one, &pair[0]);
	close(pair[1]);
	waited = fill(&raw);
	is_int(waited->peer_task.pid, child, "the holder of the other end of a pair");
	is_str(waited->peer_task.comm, "peer", "and its name");
	is_str(waited->peer, NULL, "without an address");
	wait_object__free(waited);
	child__end(child);
	close(pair[0]);
	raw = open_pair(pair);
	waited = fill(&raw);
	is_int(waited->peer_task.pid, 0, "both ends are ours: any of our threads");
	wait_object__free(waited);
	close(pair[0]);
	close(pair[1]);
}

static void test_unix(void)
{
	pid_t child = child__start(NULL, NULL);
	struct jank_rec_waited raw = { .fd = -1 };
	struct wait_object *waited;

	set_unix(&raw, "/run/x y.sock", child);
	waited = fill(&raw);
	is_str(waited->peer, "unix /run/x y.sock", "a unix socket's path");
	is_int(waited->peer_task.pid, child, "the listening process");
	wait_object__free(waited);
	child__end(child);
	set_unix(&raw, "@abstract", child);
	waited = fill(&raw);
	is_str(waited->peer, "unix @abstract", "an abstract one");
	is_int(waited->peer_task.pid, 0, "an ended process has no name");
	wait_object__free(waited);
}

static int listener(int family, struct sockaddr_storage *addr, socklen_t *len)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*len = family == AF_INET ? sizeof(four) : sizeof(six);
	memcpy(addr, family == AF_INET ? (void *)&four : (void *)&six, *len);
	if (fd < 0 || bind(fd, (void *)addr, *len) || listen(fd, 1) ||
	    getsockname(fd, (void *)addr, len))
		abort();
	return fd;
}

static int client_of(const struct sockaddr_storage *addr, socklen_t len)
{
	int fd = socket(addr->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const void *)addr, len))
		abort();
	return fd;
}

static uint16_t copy_end(__u8 *ret, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *six = (const void *)addr;
	const struct sockaddr_in *four = (const void *)addr;

	if (addr->ss_family == AF_INET)
		memcpy(ret, &four->sin_addr, 4);
	else
		memcpy(ret, &six->sin6_addr, 16);
	return ntohs(four->sin_port); /* at the same offset in both */
}

static struct jank_rec_waited connection_of(int fd, int family)
{
	struct jank_rec_waited raw = record_of(fd);
	struct sockaddr_storage own, peer;
	socklen_t len = sizeof(own);

	raw.hdr.flags |= JANK_WAITED_SOCKET;
	raw.family = (uint16_t)family;
	raw.type = SOCK_STREAM;
	raw.state = 1; /* TCP_ESTABLISHED */
	if (getsockname(fd, (void *)&own, &len))
		abort();
	len = sizeof(peer);
	if (getpeername(fd, (void *)&peer, &len))
		abort();
	raw.sport = copy_end(raw.saddr, &own);
	raw.dport = copy_end(raw.daddr, &peer);
	return raw;
}

static void name_server(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "server");
}

/* A client waits for a server that is too busy to accept. */
static void test_not_accepted(void)
{
	struct sockaddr_storage addr;
	struct jank_rec_waited raw;
	struct wait_object *waited;
	socklen_t len;
	int server = listener(AF_INET, &addr, &len), client;
	pid_t child = child__start(name_server, NULL);

	close(server);
	client = client_of(&addr, len);
	raw = connection_of(client, AF_INET);
	waited = fill(&raw);
	is_int(waited->peer_task.pid, child, "the listener, which has not accepted");
	wait_object__free(waited);
	child__end(child);
	close(client);
}

static void serve(void *arg)
{
	prctl(PR_SET_NAME, "server");
	if (accept(*(int *)arg, NULL, NULL) < 0)
		_exit(1);
	close(*(int *)arg);
}

static void test_tcp(int family, const char *host)
{
	struct sockaddr_storage addr;
	struct jank_rec_waited raw;
	struct wait_object *waited;
	socklen_t len;
	char want[64];
	int server = listener(family, &addr, &len), client;
	pid_t child;

	client = client_of(&addr, len);
	child = child__start(serve, &server);
	close(server);
	raw = connection_of(client, family);
	waited = fill(&raw);
	snprintf(want, sizeof(want), "tcp %s:%u", host, raw.dport);
	is_str(waited->peer, want, "the peer's address");
	is_int(waited->peer_task.pid, child, "the process that accepted it");
	is_str(waited->peer_task.comm, "server", "its name");
	ok(waited->target && strstr(waited->target, "->"), "both ends: %s", waited->target);
	wait_object__free(waited);
	raw.state = 10; /* TCP_LISTEN */
	waited = fill(&raw);
	ok(!waited->peer && !waited->peer_task.pid, "a listener has no peer");
	wait_object__free(waited);
	child__end(child);
	close(client);
}

static void test_udp(void)
{
	struct jank_rec_waited raw = { .hdr.flags = JANK_WAITED_SOCKET,
				       .family = AF_INET,
				       .type = SOCK_DGRAM,
				       .dport = 53,
				       .daddr = { 10, 0, 0, 7 } };
	struct wait_object *waited = fill(&raw);

	is_str(waited->peer, "udp 10.0.0.7:53", "a name server");
	is_int(waited->peer_task.pid, 0, "is not on this machine");
	wait_object__free(waited);
	raw.dport = 0;
	waited = fill(&raw);
	is_str(waited->peer, NULL, "not connected: no peer");
	wait_object__free(waited);
}

int main(void)
{
	test_pair();
	test_unix();
	test_tcp(AF_INET, "127.0.0.1");
	test_tcp(AF_INET6, "[::1]");
	test_not_accepted();
	test_udp();
	return tap__done();
}
