/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program with a slow start: `starter START LOOP [FIFO]`.
 *
 * START: fifo (opens FIFO), busy (computes 1.5 s), answers (polls for an answer several times, then
 * opens FIFO), forks (opens FIFO, forks twice, and the grandchild goes on).
 * LOOP: epoll, poll, or none (sleeps and ends).
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS	   1500000000ull
#define TURNS	   120 /* it lives until its stacks have names */
#define TURN_MS	   20
#define ANSWER_CNT 5 /* fewer than make a loop of a poll */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The functions that the records are to name. */
__attribute__((noinline)) void read_settings(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, &byte, 1) != 1)
		exit(1);
	close(fd);
}

__attribute__((noinline)) unsigned build_index(void)
{
	unsigned ret = 1;

	while (cpu_ns() < BUSY_NS)
		for (int i = 0; i < 100000; i++)
			ret = ret * 31 + (unsigned)i;
	return ret;
}

/* Waits for something that does not come, as a client does that has a timeout. */
__attribute__((noinline)) void ask_server(void)
{
	struct pollfd fds[2] = { { .fd = eventfd(0, 0), .events = POLLIN },
				 { .fd = eventfd(0, 0), .events = POLLIN } };

	for (int i = 0; i < ANSWER_CNT; i++)
		poll(fds, 2, 10);
}

static void fork_twice(void)
{
	for (int i = 0; i < 2; i++)
		if (fork())
			_exit(0);
}

static void serve_epoll(void)
{
	int epfd = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN };

	epoll_ctl(epfd, EPOLL_CTL_ADD, eventfd(0, 0), &ev);
	for (int i = 0; i < TURNS; i++)
		epoll_wait(epfd, &ev, 1, TURN_MS);
}

static void serve_poll(void)
{
	static struct pollfd fds[3];

	for (int i = 0; i < 3; i++)
		fds[i] = (struct pollfd){ .fd = eventfd(0, 0), .events = POLLIN };
	for (int i = 0; i < TURNS; i++)
		poll(fds, 3, TURN_MS);
}

int main(int argc, char **argv)
{
	volatile unsigned keep = 0;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "answers"))
		ask_server();
	if (!strcmp(argv[1], "busy"))
		keep = build_index();
	else
		read_settings(argv[3]);
	if (!strcmp(argv[1], "forks"))
		fork_twice();
	if (!strcmp(argv[2], "epoll"))
		serve_epoll();
	else if (!strcmp(argv[2], "poll"))
		serve_poll();
	else
		sleep(2);
	(void)keep;
	return 0;
}
