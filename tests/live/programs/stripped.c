/* SPDX-License-Identifier: GPL-2.0 */
/* A loop with handlers that compute and sleep, to be stripped. It ends by itself. */
#include <sys/epoll.h>
#include <time.h>

static inline __attribute__((always_inline)) void spin(const struct timespec *until)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < until->tv_sec ||
	       (now.tv_sec == until->tv_sec && now.tv_nsec < until->tv_nsec));
}

static __attribute__((noinline)) void handle_busy(void)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 80000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	spin(&until);
	__asm__ volatile("");
}

static __attribute__((noinline)) void handle_sleep(void)
{
	struct timespec time = { .tv_nsec = 80000000 };

	nanosleep(&time, NULL);
	__asm__ volatile("");
}

int main(void)
{
	int epoll = epoll_create1(0);
	struct epoll_event event;

	for (int i = 0; i < 6; i++) {
		epoll_wait(epoll, &event, 1, 20);
		if (i & 1)
			handle_busy();
		else
			handle_sleep();
	}
	epoll_wait(epoll, &event, 1, 20);
	return 0;
}
