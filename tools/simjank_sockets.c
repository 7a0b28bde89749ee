/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fixture's pipes and sockets, and their peers for the truth. */
#include "simjank_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG_FILL 4 /* connections that fill a backlog of none, plus a reserve */
#define DNS_PORT     53
#define DNS_NET	     0x7f530000u /* 127.83.0.0: no other name server uses it */

int sockets__open(struct fixture *stage)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (pipe2(stage->pipe_fds, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stage->unix_fds))
		return -errno;
	stage->nested_epfd = epoll_create1(EPOLL_CLOEXEC);
	stage->event_fd = eventfd(0, EFD_CLOEXEC);
	if (stage->nested_epfd < 0 || stage->event_fd < 0 ||
	    epoll_ctl(stage->nested_epfd, EPOLL_CTL_ADD, stage->pipe_fds[0], &event))
		return -errno;
	stage->zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return stage->zero_fd < 0 ? -errno : 0;
}

static void peer__add(struct fixture *stage, const char *name, const char *protocol,
		      const struct sockaddr_in *addr)
{
	char host[INET_ADDRSTRLEN], text[64];

	inet_ntop(AF_INET, &addr->sin_addr, host, sizeof(host));
	snprintf(text, sizeof(text), "%s %s:%u", protocol, host, ntohs(addr->sin_port));
	actors__add_object(&stage->cast, name, "peer", text);
}

/*
 * A listener on a free port of the loopback interface, and its address. Returns a descriptor or
 * -errno.
 */
static int listener__open(int backlog, struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, len) || listen(fd, backlog) ||
	    getsockname(fd, (struct sockaddr *)addr, &len))
		return -errno;
	return fd;
}

int sockets__open_tcp(struct fixture *stage)
{
	struct sockaddr_in addr;
	int listener = listener__open(1, &addr), one = 1;
	int *fds = stage->tcp_fds;

	if (listener < 0)
		return listener;
	peer__add(stage, "tcp", "tcp", &addr);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fds[0] < 0 || connect(fds[0], (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	fds[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fds[1] < 0)
		return -errno;
	setsockopt(fds[1], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	close(listener);
	return 0;
}

int sockets__open_backlog(struct fixture *stage)
{
	struct sockaddr_in addr;

	stage->backlog_fd = listener__open(0, &addr);
	if (stage->backlog_fd < 0)
		return stage->backlog_fd;
	stage->backlog_port = ntohs(addr.sin_port);
	peer__add(stage, "backlog", "tcp", &addr);
	for (int i = 0; i < BACKLOG_FILL; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (fd < 0)
			return -errno;
		if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) && errno != EINPROGRESS)
			return -errno;
	}
	return 0;
}

int sockets__open_resolver(struct fixture *stage)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(DNS_PORT) };

	addr.sin_addr.s_addr = htonl(DNS_NET | (((unsigned)getpid() + stage->index) % 65533 + 1));
	stage->resolver_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	stage->query_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (stage->resolver_fd < 0 || stage->query_fd < 0 ||
	    bind(stage->resolver_fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    connect(stage->query_fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	peer__add(stage, "resolver", "udp", &addr);
	return 0;
}
