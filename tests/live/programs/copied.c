/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop with handlers that stall in a library (copied_lib.c): 40 ms of every 100. Ends with its
 * stdin.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

void copied_handle(unsigned ms);

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	struct epoll_event event;
	int epoll = epoll_create1(0);

	puts("ready");
	fflush(stdout);
	while (!poll(&in, 1, 0)) {
		epoll_wait(epoll, &event, 1, 60);
		copied_handle(40);
	}
	return 0;
}
