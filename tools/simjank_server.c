/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process `server`. It listens itself, because a unix socket's peer is the process that
 * listened.
 */
#include "simjank_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "simjank_clock.h"

struct question {
	uint64_t end_ns, computes;
};

union address {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
};

static socklen_t address__fill(union address *addr, const struct fixture *stage, int which)
{
	socklen_t len = sizeof(addr->in);

	memset(addr, 0, sizeof(*addr));
	if (which == SERVER_TCP) {
		addr->in.sin_family = AF_INET;
		addr->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return len;
	}
	addr->un.sun_family = AF_UNIX;
	snprintf(addr->un.sun_path, sizeof(addr->un.sun_path), "%s/server", stage->path);
	return sizeof(addr->un);
}

/* Where it is bound, for the truth and for its clients. */
static socklen_t address__of(union address *addr, const struct fixture *stage, int which)
{
	socklen_t len = address__fill(addr, stage, which);

	if (which == SERVER_TCP && getsockname(stage->listen_fds[which], &addr->any, &len))
		return 0;
	return len;
}

int server__bind(struct fixture *stage)
{
	union address addr;
	char text[160];

	for (int i = 0; i < SERVER_CNT; i++) {
		int fd = socket(i == SERVER_TCP ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		socklen_t len = address__fill(&addr, stage, i);

		if (fd < 0 || bind(fd, &addr.any, len))
			return -errno;
		stage->listen_fds[i] = fd;
	}
	address__of(&addr, stage, SERVER_TCP);
	snprintf(text, sizeof(text), "tcp 127.0.0.1:%u", ntohs(addr.in.sin_port));
	actors__add_object(&stage->cast, "tcp_server", "peer", text);
	snprintf(text, sizeof(text), "unix %s/server", stage->path);
	actors__add_object(&stage->cast, "unix_server", "peer", text);
	return 0;
}

static void server__answer(int fd)
{
	struct question question;

	if (recv(fd, &question, sizeof(question), MSG_WAITALL) != sizeof(question))
		_exit(0);
	if (question.computes)
		clock__burn_until(question.end_ns);
	else
		clock__sleep_until(question.end_ns);
	if (send(fd, "", 1, MSG_NOSIGNAL) < 0)
		_exit(0);
}

void server__run(struct fixture *stage)
{
	struct pollfd fds[SERVER_CNT];
	int one = 1;

	for (int i = 0; i < SERVER_CNT; i++)
		if (listen(stage->listen_fds[i], 1))
			_exit(1);
	for (int i = 0; i < SERVER_CNT; i++) {
		fds[i].fd = accept4(stage->listen_fds[i], NULL, NULL, SOCK_CLOEXEC);
		fds[i].events = POLLIN;
		close(stage->listen_fds[i]);
	}
	setsockopt(fds[SERVER_TCP].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while (poll(fds, SERVER_CNT, -1) > 0 || errno == EINTR)
		for (int i = 0; i < SERVER_CNT; i++)
			if (fds[i].revents)
				server__answer(fds[i].fd);
	_exit(0);
}

/* Retries while it does not listen yet. */
static int server__connect_one(const union address *addr, socklen_t len)
{
	int fd = socket(addr->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	for (int turn = 0; fd >= 0 && connect(fd, &addr->any, len); turn++) {
		int err = -errno;

		if (err != -ECONNREFUSED || turn == 1000) {
			close(fd);
			return err;
		}
		clock__sleep_until(clock__mono_ns() + NS_PER_MS);
	}
	if (fd >= 0 && addr->any.sa_family == AF_INET)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd < 0 ? -errno : fd;
}

int server__connect(struct fixture *stage)
{
	for (int i = 0; i < SERVER_CNT; i++) {
		union address addr;
		socklen_t len = address__of(&addr, stage, i);
		int fd = server__connect_one(&addr, len);

		if (fd < 0)
			return fd;
		stage->server_fds[i] = fd;
		close(stage->listen_fds[i]);
	}
	return 0;
}

bool server__ask(struct fixture *stage, int which, uint64_t end_ns, bool computes)
{
	const struct question question = { .end_ns = end_ns, .computes = computes };

	return send(stage->server_fds[which], &question, sizeof(question), MSG_NOSIGNAL) ==
	       sizeof(question);
}
