/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Waits a known number of times, for sites.c to count the probes' hits:
 *
 * 	worker FUNCTION SITUATION THREADED COUNT
 *
 * FUNCTION: wait, pwait, pwait2. SITUATION: ready, timeout, eintr. Built dynamic, static, and with
 * musl. Prints "ready", begins at a byte on stdin, prints how many nanoseconds it took, ends at the
 * next byte.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int wait_wait(int fd, struct epoll_event *event, int ms)
{
	return epoll_wait(fd, event, 1, ms);
}

static int wait_pwait(int fd, struct epoll_event *event, int ms)
{
	sigset_t none;

	sigemptyset(&none);
	return epoll_pwait(fd, event, 1, ms, &none);
}

#ifdef __GLIBC__
static int wait_pwait2(int fd, struct epoll_event *event, int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	return epoll_pwait2(fd, event, 1, &ts, NULL);
}
#endif

typedef int (*wait_fn)(int fd, struct epoll_event *event, int ms);

static const struct {
	const char *name;
	wait_fn fn;
} waits[] = {
	{ "wait", wait_wait },
	{ "pwait", wait_pwait },
#ifdef __GLIBC__
	{ "pwait2", wait_pwait2 },
#endif
};

static void on_alarm(int sig)
{
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int epoll_for(const char *situation)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0), fd = eventfd(!strcmp(situation, "ready"), 0);

	if (ep < 0 || fd < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event))
		abort();
	return ep;
}

/* Other threads block all signals: a signal must interrupt the waiting one. */
static void start_thread(void)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, sleeper, NULL))
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void interrupt_often(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* Each wait must end as the situation requires. */
static void run(wait_fn fn, const char *situation, long count)
{
	bool eintr = !strcmp(situation, "eintr");
	int ep = epoll_for(situation), ms = eintr ? 10000 : 0;
	int want = eintr ? -1 : !strcmp(situation, "ready");
	struct epoll_event event;
	long long begin;

	if (eintr)
		interrupt_often();
	begin = now_ns();
	for (long i = 0; i < count; i++) {
		if (fn(ep, &event, ms) != want || (eintr && errno != EINTR))
			abort();
	}
	printf("%lld\n", now_ns() - begin);
}

int main(int argc, char **argv)
{
	wait_fn fn = NULL;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; argc == 5 && i < sizeof(waits) / sizeof(*waits); i++) {
		if (!strcmp(argv[1], waits[i].name))
			fn = waits[i].fn;
	}
	if (!fn)
		return 2;
	if (atoi(argv[3]))
		start_thread();
	puts("ready");
	getchar();
	run(fn, argv[2], atol(argv[4]));
	getchar();
	_exit(0);
}
