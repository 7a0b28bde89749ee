/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that wait for work in several calls (tests/live/rests.t). MODE names what one thread does
 * until the standard input ends:
 *
 *   pool      runs a task, which polls, and rests in two waits of its pool in turn: 3 s; for long
 *   beside    polls twelve times without an event, then sleeps on a condition variable, 1 s
 *   handler   polls; the handler of a stall waits for a condition variable and for a poll in turn
 *   own-CALL  waits for its epoll by CALL, 90 ms at most, then asks epoll what is ready
 *
 * Each letter on the standard input is work: `s` with a stall of STALL_MS (by poll), `S` with a
 * sleep, `x` without. `handler` and `own-CALL` answer with the letter, and begin with `r`.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS 150
#define PART_MS	 20
#define OWN_MS	 90
#define MS_NS	 1000000
#define STALL	 1000 /* in the eventfd: work with a stall */

static volatile int handled; /* written to keep a function's frame while it waits */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int task_cnt, event_fd, pipe_fds[2];

/* Waits for a task, at most ms (0: for ever). Returns 0 or an errno. */
static int __attribute__((noinline)) wait_on_cond(long ms)
{
	struct timespec until;
	int res = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ms % 1000 * MS_NS;
	until.tv_sec += ms / 1000 + until.tv_nsec / (1000 * MS_NS);
	until.tv_nsec %= 1000 * MS_NS;
	pthread_mutex_lock(&lock);
	while (!task_cnt && res != ETIMEDOUT)
		res = ms ? pthread_cond_timedwait(&changed, &lock, &until)
			 : pthread_cond_wait(&changed, &lock);
	if (!res)
		task_cnt--;
	pthread_mutex_unlock(&lock);
	return res;
}

static int __attribute__((noinline)) poll_two(int ms)
{
	struct pollfd fds[2] = { { event_fd, POLLIN, 0 }, { pipe_fds[0], POLLIN, 0 } };

	return poll(fds, 2, ms);
}

static int __attribute__((noinline)) run_task(void)
{
	for (int i = 0; i < 12; i++)
		handled = poll_two(PART_MS);
	return handled;
}

/* The pool's two waits lie at different depths. */
static int __attribute__((noinline)) rest_for_long(void)
{
	handled = wait_on_cond(0);
	return handled;
}

static void *pool(void *arg)
{
	for (int i = 0;; i++) {
		run_task();
		while (i % 2 ? wait_on_cond(3000) : rest_for_long())
			;
	}
	return arg;
}

static void *beside(void *arg)
{
	struct pollfd fds[2] = { { event_fd, POLLIN, 0 }, { pipe_fds[0], POLLIN, 0 } };
	struct timespec until;

	for (;;) {
		for (int i = 0; i < 12; i++)
			poll(fds, 2, PART_MS);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_mutex_lock(&lock);
		pthread_cond_timedwait(&changed, &lock, &until);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void answer(char letter)
{
	if (write(1, &letter, 1) < 0)
		exit(1);
}

static int __attribute__((noinline)) handle(int round)
{
	handled = round % 2 ? wait_on_cond(STALL_MS) : poll(NULL, 0, STALL_MS);
	return handled;
}

static void *handler(void *arg)
{
	uint64_t cnt;

	answer('r');
	for (int i = 0;;) {
		if (poll_two(-1) <= 0 || read(event_fd, &cnt, sizeof(cnt)) <= 0)
			continue;
		if (cnt == STALL)
			handle(i++);
		answer(cnt == STALL ? 's' : 'x');
	}
	return arg;
}

static int own_wait(const char *call, int epoll_fd)
{
	struct pollfd fds[3] = { { event_fd, POLLIN, 0 },
				 { pipe_fds[0], POLLIN, 0 },
				 { epoll_fd, POLLIN, 0 } };
	struct timespec ts = { .tv_nsec = OWN_MS * MS_NS };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(epoll_fd, &set);
	if (!strcmp(call, "ppoll"))
		return ppoll(&fds[2], 1, &ts, NULL);
	if (!strcmp(call, "poll"))
		return poll(fds, 3, OWN_MS);
	return pselect(epoll_fd + 1, &set, NULL, NULL, &ts, NULL);
}

static int own(const char *call)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll_fd = epoll_create1(0);
	char letter;

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, 0, &event);
	answer('r');
	for (;;) {
		own_wait(call, epoll_fd);
		if (epoll_wait(epoll_fd, &event, 1, 0) <= 0)
			continue;
		if (read(0, &letter, 1) <= 0)
			return 0;
		if (letter == 's')
			poll(&(struct pollfd){ pipe_fds[0], POLLIN, 0 }, 1, STALL_MS);
		if (letter == 'S')
			usleep(STALL_MS * 1000);
		answer(letter);
	}
}

/* Gives the thread its work. */
static int serve(bool by_event)
{
	uint64_t cnt;
	char letter;

	while (read(0, &letter, 1) > 0) {
		cnt = letter == 's' ? STALL : 1;
		if (by_event && write(event_fd, &cnt, sizeof(cnt)) < 0)
			return 1;
		if (by_event)
			continue;
		pthread_mutex_lock(&lock);
		task_cnt++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}

int main(int argc, char **argv)
{
	void *(*fn)(void *) = handler;
	pthread_t thread;

	event_fd = eventfd(0, 0);
	if (argc < 2 || event_fd < 0 || pipe(pipe_fds))
		return 2;
	if (!strncmp(argv[1], "own-", 4))
		return own(argv[1] + 4);
	if (!strcmp(argv[1], "pool"))
		fn = pool;
	else if (!strcmp(argv[1], "beside"))
		fn = beside;
	if (pthread_create(&thread, NULL, fn, NULL))
		return 1;
	return serve(fn == handler);
}
