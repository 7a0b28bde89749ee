/* SPDX-License-Identifier: GPL-2.0 */
/* A server of a test: a child that serves one connection after the other, on a port of its own. */
#ifndef JANK_TEST_LOOPBACK_H
#define JANK_TEST_LOOPBACK_H

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns the pid of the child, or -1. It ends with the test. */
static inline pid_t loopback__serve(void (*serve)(int client), int *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&at, &len))
		return -1;
	*ret_port = ntohs(at.sin_port);
	fflush(stdout);
	pid = fork();
	if (pid) {
		close(fd);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		serve(client);
		close(client);
	}
}

#endif
