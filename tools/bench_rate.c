/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop of epoll with a given number of dispatches a second, for `make bench-governor` and
 * `make bench-agent`:
 *
 *   bench_rate RATE [PROCESSES]      until it is killed; prints "ready" first. RATE is that of all
 *
 * A timer gives each millisecond its dispatches; in between the loop finds an eventfd ready. With
 * less than 1,000 a second each is one of the timer.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SECOND_NS  1000000000ull
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
	int cnt;

	while ((cnt = epoll_wait(loop, &event, 1, -1)) == 1 || (cnt < 0 && errno == EINTR)) {
		if (cnt < 0)
			continue; /* it was stopped or frozen */
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

/* One process; returns if it fails. */
static void serve(uint64_t rate)
{
	const uint64_t tick_ns = SECOND_NS / (rate < TICKS_A_S ? rate : TICKS_A_S);
	const struct timespec step = { (time_t)(tick_ns / SECOND_NS), (long)(tick_ns % SECOND_NS) };
	const struct itimerspec tick = { step, step };
	int loop = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	int more = eventfd(0, EFD_NONBLOCK);

	if (loop < 0 || timer < 0 || more < 0 || add(loop, timer) || add(loop, more) ||
	    timerfd_settime(timer, 0, &tick, NULL))
		perror("bench_rate");
	else
		run(loop, timer, more, rate < TICKS_A_S ? TICKS_A_S : rate);
}

int main(int argc, char **argv)
{
	uint64_t rate = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t processes = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	if (argc > 3 || !processes || rate < processes) {
		fprintf(stderr,
			"bench_rate: give RATE [PROCESSES], at least 1 a second for each\n");
		return 2;
	}
	for (uint64_t i = 1; i < processes; i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(rate / processes);
			_exit(1);
		}
	printf("ready\n");
	fflush(stdout);
	serve(rate / processes);
	return 1;
}
