// SPDX-License-Identifier: GPL-2.0
// The loop of the apps on the stand-in for ART: an epoll and a timer.
#ifndef ART_TURNS_H
#define ART_TURNS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

// Calls the handler every 90 ms, for good. From the environment: ART_MS, more for an emulated
// machine, and ART_TURNS, a file instead of stdout. Returns 1 if one of these cannot be had.
static int art_turns(void (*handle)(unsigned turn))
{
	const char *out = getenv("ART_TURNS"), *text = getenv("ART_MS");
	long ms = text ? atol(text) : 90;
	struct timespec period = { ms / 1000, ms % 1000 * 1000000 };
	struct epoll_event event = { .events = EPOLLIN };
	struct itimerspec every = { period, period };
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t ticks;

	if ((out && !freopen(out, "w", stdout)) || timerfd_settime(timer, 0, &every, NULL) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event))
		return 1;
	for (unsigned turn = 0;; turn++) {
		epoll_wait(epoll, &event, 1, -1);
		if (read(timer, &ticks, sizeof(ticks)) == sizeof(ticks))
			handle(turn);
	}
}

#endif
