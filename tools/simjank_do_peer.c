/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handlers that wait for a peer at a socket, or for another process. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simjank_handler.h"
#include "simjank_server.h"

WHOLE void do_recv(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) < 0 && errno == EINTR)
		;
}

/* Nobody accepts a connection of the backlog: connect ends by its timeout. */
static WHOLE void do_connect(int fd, const struct sockaddr_in *addr)
{
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		errno = 0;
}

static WHOLE void do_waitpid(pid_t child)
{
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static WHOLE void do_flock(int fd)
{
	while (flock(fd, LOCK_EX) && errno == EINTR)
		;
}

HANDLER(socket)
{
	fixture__ask(stage, PARTNER_ANSWERER, end_ns, stage->unix_fds[1]);
	do_recv(stage->unix_fds[0]);
}

HANDLER(tcp)
{
	fixture__ask(stage, PARTNER_ANSWERER, end_ns, stage->tcp_fds[1]);
	do_recv(stage->tcp_fds[0]);
}

HANDLER(server)
{
	if (server__ask(stage, SERVER_UNIX, end_ns, false))
		do_recv(stage->server_fds[SERVER_UNIX]);
}

HANDLER(tcp_server)
{
	if (server__ask(stage, SERVER_TCP, end_ns, true))
		do_recv(stage->server_fds[SERVER_TCP]);
}

HANDLER(connect)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(stage->backlog_port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t now_ns = clock__mono_ns(), left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	struct timeval tv = { .tv_sec = (time_t)(left_ns / NS_PER_S),
			      .tv_usec = (suseconds_t)(left_ns % NS_PER_S / NS_PER_US) };

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	do_connect(fd, &addr);
	close(fd);
}

/* A query for the address of `slow.test`, by RFC 1035. */
HANDLER(dns)
{
	static const char query[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04slow\x04"
				    "test\x00\x00\x01\x00\x01";

	fixture__ask(stage, PARTNER_RESOLVER, end_ns, stage->resolver_fd);
	if (send(stage->query_fd, query, sizeof(query) - 1, 0) > 0)
		do_recv(stage->query_fd);
}

HANDLER(child)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_NAME, "child");
		clock__sleep_until(end_ns);
		_exit(0);
	}
	stage->cast.late_tid = child;
	if (child > 0)
		do_waitpid(child);
}

HANDLER(flock)
{
	fixture__ask_locker(stage, end_ns);
	do_flock(stage->lock_fd);
	flock(stage->lock_fd, LOCK_UN);
}
