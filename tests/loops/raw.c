/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop without a library over four descriptors: raw epoll|poll|ppoll|select|pselect. Also linked
 * statically with another libc: then only the system calls show that it is a loop.
 */
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "stall.h"

enum { TICK, PIPE, EVENT, SOCKET, CNT };

static int fds[CNT], pokes[CNT];
static int over;

static void on_pipe(int fd)
{
	STALL("pipe", "\"fd\":%d,\"fd_target\":\"pipe\"", fd);
}

static void on_event(int fd)
{
	STALL("event", "\"fd\":%d,\"fd_target\":\"eventfd\"", fd);
}

static void on_socket(int fd)
{
	STALL("socket", "\"fd\":%d,\"fd_target\":\"unix\"", fd);
}

static void on_tick(int fd)
{
	static const int order[] = { PIPE, EVENT, SOCKET };
	static const uint64_t one = 1;
	int due = stall__due(3);

	if (due == STALL_OVER)
		over = 1;
	else if (due >= 0 && write(pokes[order[due]], &one, sizeof(one)) != sizeof(one))
		_exit(1);
}

static void handle(int fd)
{
	static void (*const handlers[CNT])(int fd) = { on_tick, on_pipe, on_event, on_socket };
	uint64_t value;

	for (int i = 0; i < CNT; i++)
		if (fds[i] == fd && read(fd, &value, sizeof(value)) > 0)
			handlers[i](fd);
}

static void run_epoll(void)
{
	struct epoll_event events[CNT];
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < CNT; i++) {
		events[0] = (struct epoll_event){ .events = EPOLLIN, .data.fd = fds[i] };
		epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &events[0]);
	}
	while (!over) {
		int cnt = epoll_wait(epoll, events, CNT, -1);

		for (int i = 0; i < cnt; i++)
			handle(events[i].data.fd);
	}
}

static void run_polls(int with_mask)
{
	static const struct timespec long_time = { 1000, 0 };
	struct pollfd polled[CNT];

	for (int i = 0; i < CNT; i++)
		polled[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	while (!over) {
		if ((with_mask ? ppoll(polled, CNT, &long_time, NULL) : poll(polled, CNT, -1)) < 0)
			_exit(1);
		for (int i = 0; i < CNT; i++)
			if (polled[i].revents)
				handle(fds[i]);
	}
}

static void run_selects(int with_mask)
{
	int most = 0;

	for (int i = 0; i < CNT; i++)
		most = fds[i] > most ? fds[i] : most;
	while (!over) {
		fd_set set;

		FD_ZERO(&set);
		for (int i = 0; i < CNT; i++)
			FD_SET(fds[i], &set);
		if ((with_mask ? pselect(most + 1, &set, NULL, NULL, NULL, NULL)
			       : select(most + 1, &set, NULL, NULL, NULL)) < 0)
			_exit(1);
		for (int i = 0; i < CNT; i++)
			if (FD_ISSET(fds[i], &set))
				handle(fds[i]);
	}
}

static void open_fds(void)
{
	static const struct itimerspec often = { { 0, STALL_TICK_MS * 1000000 },
						 { 0, STALL_TICK_MS * 1000000 } };
	int both[2];

	fds[TICK] = timerfd_create(CLOCK_MONOTONIC, 0);
	fds[EVENT] = pokes[EVENT] = eventfd(0, 0);
	if (fds[TICK] < 0 || timerfd_settime(fds[TICK], 0, &often, NULL) || pipe(both))
		_exit(1);
	fds[PIPE] = both[0];
	pokes[PIPE] = both[1];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, both))
		_exit(1);
	fds[SOCKET] = both[0];
	pokes[SOCKET] = both[1];
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "epoll";

	stall__open();
	open_fds();
	if (!strcmp(mode, "epoll"))
		run_epoll();
	else if (strstr(mode, "poll"))
		run_polls(mode[1] == 'p');
	else
		run_selects(mode[0] == 'p');
	return 0;
}
