/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop of epoll with a given number of dispatches a second, for `make bench-governor`:
 *
 *   bench_rate RATE      until it is killed; prints "ready" first
 *
 * A timer gives each millisecond its dispatches; in between the loop finds an eventfd ready.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_NS	   1000000
#define TICKS_A_S  1000
#define BEHIND_MAX 10 /* ticks that are made up for */

static int add(int loop, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
}

static void run(int loop, int timer, int more, uint64_t rate)
{
	struct epoll_event event;
	const uint64_t one = 1;
	uint64_t ticks, due = 0, got;

	while (epoll_wait(loop, &event, 1, -1) == 1) {
		if (event.data.fd == timer && read(timer, &ticks, sizeof(ticks)) == sizeof(ticks)) {
			due += rate * (ticks < BEHIND_MAX ? ticks : BEHIND_MAX);
			if (due >= 2 * TICKS_A_S && write(more, &one, sizeof(one)) < 0)
				return;
		} else if (event.data.fd == more && due < 2 * TICKS_A_S &&
			   read(more, &got, sizeof(got)) < 0) {
			return;
		}
		due = due > TICKS_A_S ? due - TICKS_A_S : 0;
	}
}

int main(int argc, char **argv)
{
	const struct itimerspec tick = { { 0, TICK_NS }, { 0, TICK_NS } };
	uint64_t rate = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	int loop = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	int more = eventfd(0, EFD_NONBLOCK);

	if (rate < TICKS_A_S || loop < 0 || timer < 0 || more < 0 || add(loop, timer) ||
	    add(loop, more) || timerfd_settime(timer, 0, &tick, NULL)) {
		fprintf(stderr, "bench_rate: give at least %d dispatches a second\n", TICKS_A_S);
		return 2;
	}
	printf("ready\n");
	fflush(stdout);
	run(loop, timer, more, rate);
	return 1;
}
