/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Polls one descriptor for work without a timeout.
 * `looker busy ROUNDS`: after each piece of work, as a program with endless output does; each
 * 20,000th piece takes 120 ms.
 * `looker client ROUNDS`: before each request, whose answer takes 120 ms.
 * `looker both ROUNDS`: as busy, and after each 5,000th piece waits for half a second, deeper in
 * the stack. It begins with a line of input.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS 120
#define SLOW	 20000

static volatile unsigned spun;

static void sleep_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

static void look(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	if (poll(&pollfd, 1, 0) < 0)
		abort();
}

__attribute__((noinline)) static void handle(int round)
{
	for (int i = 0; i < 20000; i++)
		spun++;
	if (round % SLOW == SLOW / 2 + 2500) /* not just after a wait */
		sleep_ms(STALL_MS);
}

__attribute__((noinline)) static int wait_deep(const int fds[2])
{
	volatile char room[4096];
	fd_set set;
	struct timeval half = { .tv_usec = 500000 };

	room[0] = 0;
	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	return select(fds[0] + 1, &set, NULL, NULL, &half) + room[0];
}

static void *answer(void *arg)
{
	int fd = *(int *)arg;
	char byte;

	while (read(fd, &byte, 1) == 1) {
		sleep_ms(STALL_MS);
		if (write(fd, &byte, 1) != 1)
			break;
	}
	return NULL;
}

static void ask(int fd)
{
	char byte = 0;

	if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
		abort();
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 0, fds[2];
	pthread_t thread;
	char line[8];

	if (!rounds || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ||
	    pthread_create(&thread, NULL, answer, &fds[1]))
		return 2;
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 2;
	for (int i = 0; i < rounds; i++) {
		look(fds[0]);
		if (!strcmp(argv[1], "client"))
			ask(fds[0]);
		else
			handle(i);
		if (!strcmp(argv[1], "both") && i % 5000 == 4999)
			wait_deep(fds);
	}
	return 0;
}
