// SPDX-License-Identifier: GPL-2.0
// The loop of the apps on the stand-in for ART: an epoll and a timer.
#ifndef ART_TURNS_H
#define ART_TURNS_H

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

// Calls the handler every ms, for good. Returns 1 if there is no timer or no epoll.
static int art_turns(long ms, void (*handle)(unsigned turn))
{
	struct timespec period = { ms / 1000, ms % 1000 * 1000000 };
	struct epoll_event event = { .events = EPOLLIN };
	struct itimerspec every = { period, period };
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t ticks;

	if (timerfd_settime(timer, 0, &every, NULL) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event))
		return 1;
	for (unsigned turn = 0;; turn++) {
		epoll_wait(epoll, &event, 1, -1);
		if (read(timer, &ticks, sizeof(ticks)) == sizeof(ticks))
			handle(turn);
	}
}

#endif
