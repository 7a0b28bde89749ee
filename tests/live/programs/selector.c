/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop that waits deeper in the stack than its handlers do: selector TURNS. Each tenth handler is
 * slow.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#define IDLE_US	 80000
#define STALL_US 90000
#define ROOM	 65536

static int fds[2];

static void __attribute__((noinline)) wait_for_work(void)
{
	struct timeval timeout = { .tv_usec = IDLE_US };
	volatile char events[ROOM];
	fd_set set;

	events[0] = 0;
	FD_ZERO(&set);
	select(0, &set, NULL, NULL, &timeout);
	events[ROOM - 1] = events[0];
}

/* Polls as a client does that asks for one answer. */
static int __attribute__((noinline)) handle(int turn)
{
	struct pollfd fd = { .fd = fds[0], .events = POLLIN };
	char byte = 'x';
	int ready;

	if (write(fds[1], &byte, 1) != 1)
		return -1;
	ready = poll(&fd, 1, 1000);
	if (turn % 10 == 9)
		usleep(STALL_US);
	return ready == 1 && read(fds[0], &byte, 1) == 1 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 0;

	if (pipe(fds))
		return 1;
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (int turn = 0; turn < turns; turn++) {
		wait_for_work();
		if (handle(turn))
			return 1;
	}
	return 0;
}
