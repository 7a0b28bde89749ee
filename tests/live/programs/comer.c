/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A process that starts, stalls once in its loop, and ends: comer STALL_MS [MODE]. MODE exec: again
 * as a new program with the same pid. MODE thread: the loop is in another thread than the main one.
 * Prints "PID START_NS DURATION_NS" for each stall, by its own clock.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static long stall_ms;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void stall(void)
{
	const struct timespec ts = { stall_ms / 1000, stall_ms % 1000 * 1000000 };
	uint64_t start = now_ns();
	char line[96];
	int len;

	nanosleep(&ts, NULL);
	len = snprintf(line, sizeof(line), "%d %llu %llu\n", getpid(), (unsigned long long)start,
		       (unsigned long long)(now_ns() - start));
	if (write(STDOUT_FILENO, line, len) != len)
		exit(1);
}

/* Three turns; the second one is slow. */
static void *run_loop(void *arg)
{
	const struct itimerspec spec = { { 0, 2000000 }, { 0, 2000000 } };
	int epfd = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t expirations;

	timerfd_settime(timer, 0, &spec, NULL);
	epoll_ctl(epfd, EPOLL_CTL_ADD, timer, &event);
	for (int turn = 0; turn < 3; turn++) {
		epoll_wait(epfd, &event, 1, -1);
		if (read(timer, &expirations, sizeof(expirations)) < 0)
			return NULL;
		if (turn == 1)
			stall();
	}
	return arg;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	pthread_t thread;

	stall_ms = argc > 1 ? atol(argv[1]) : 20;
	if (!strcmp(mode, "thread")) {
		pthread_create(&thread, NULL, run_loop, NULL);
		pthread_join(thread, NULL);
		return 0;
	}
	run_loop(NULL);
	if (!strcmp(mode, "exec"))
		execl("/proc/self/exe", argv[0], argv[1], NULL);
	return 0;
}
