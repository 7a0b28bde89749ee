/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stall on demand in any loop, preloaded: of GLib by a source of its own, else as the loop's wait
 * in epoll returns. A file $JANK_STALL/PID has "MODE SECONDS"; it is removed when the stall begins.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLICE_MS 20

struct end {
	unsigned seconds;
	int fds[2];
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static char *folder; /* nginx clears its environment */

static void rest(unsigned seconds)
{
	struct timespec left = { .tv_sec = seconds };

	while (nanosleep(&left, &left))
		;
}

static void *hold_mutex(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&held);
	rest(((const struct end *)arg)->seconds);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void *write_later(void *arg)
{
	const struct end *end = arg;

	rest(end->seconds);
	return write(end->fds[1], "x", 1) == 1 ? NULL : arg;
}

static void stall_asleep(struct end *end)
{
	rest(end->seconds);
}

static void stall_blocked(struct end *end)
{
	pthread_t thread;
	char byte;

	if (pipe(end->fds) || pthread_create(&thread, NULL, write_later, end) ||
	    read(end->fds[0], &byte, 1) != 1)
		abort();
	pthread_join(thread, NULL);
	close(end->fds[0]);
	close(end->fds[1]);
}

static void stall_busy(struct end *end)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec - begin.tv_sec < (time_t)end->seconds);
}

static void stall_locked(struct end *end)
{
	pthread_t thread;

	pthread_barrier_init(&held, NULL, 2);
	if (pthread_create(&thread, NULL, hold_mutex, end))
		abort();
	pthread_barrier_wait(&held);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

/*
 * Without signals: postgres' own timer, 10 s after a query, makes two sleeps of one read, and what
 * was before the trace begins with the sleep that the trace finds (docs/contract.md).
 */
static void stall_alone(void (*stall)(struct end *end), struct end *end)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	stall(end);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stall_on_demand(void)
{
	static const struct {
		const char *mode;
		void (*stall)(struct end *end);
	} stalls[] = {
		{ "asleep", stall_asleep },
		{ "blocked", stall_blocked },
		{ "busy", stall_busy },
		{ "locked", stall_locked },
	};
	struct end end = {};
	char path[256], mode[16];
	FILE *file;
	int cnt;

	snprintf(path, sizeof(path), "%s/%d", folder ? folder : "/nowhere", getpid());
	file = fopen(path, "r");
	if (!file)
		return;
	cnt = fscanf(file, "%15s %u", mode, &end.seconds);
	fclose(file);
	unlink(path);
	for (size_t i = 0; cnt == 2 && i < sizeof(stalls) / sizeof(*stalls); i++)
		if (!strcmp(mode, stalls[i].mode))
			stall_alone(stalls[i].stall, &end);
}

static int wait_in_slices(int epfd, struct epoll_event *events, int max, int timeout,
			  const sigset_t *mask)
{
	int cnt, slice;

	if (gettid() != getpid())
		return (int)syscall(SYS_epoll_pwait, epfd, events, max, timeout, mask, 8);
	do {
		stall_on_demand();
		slice = timeout < 0 || timeout > SLICE_MS ? SLICE_MS : timeout;
		cnt = (int)syscall(SYS_epoll_pwait, epfd, events, max, slice, mask, 8);
		timeout -= timeout < 0 ? 0 : slice;
	} while (!cnt && timeout);
	return cnt;
}

int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	return wait_in_slices(epfd, events, max, timeout, NULL);
}

int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	return wait_in_slices(epfd, events, max, timeout, mask);
}

static int on_glib_timeout(void *data)
{
	(void)data;
	stall_on_demand();
	return 1;
}

static __attribute__((constructor)) void begin(void)
{
	unsigned (*add)(unsigned ms, int (*fn)(void *), void *data);
	const char *path = getenv("JANK_STALL");

	folder = path ? strdup(path) : NULL;
	add = (unsigned (*)(unsigned, int (*)(void *), void *))dlsym(RTLD_DEFAULT, "g_timeout_add");
	if (add && getenv("JANK_STALL_GLIB"))
		add(SLICE_MS, on_glib_timeout, NULL);
}
