/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stand-in for the framework of an Android app, built as boot-framework.oat: Looper.loopOnce
 * waits in epoll and calls Handler.dispatchMessage (ArtMethod *, Handler *, Message *), whose
 * Message has the layout of Android 10 to 15 (old) or of later ones (new). The messages are, in
 * turn:
 *
 *	159 of ActivityThread's H	4711 of an app's Handler	7, a callback
 *
 * Each takes 30 ms of CPU. The end of stdin ends it.
 */
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS		      30000000
#define PAUSE_NS	      20000000
#define NAMED(function, name) static void function(void *message) __asm__(name)

struct layout {
	unsigned target, when, what;
};
static const struct layout layouts[] = { { 28, 32, 56 }, { 40, 64, 88 } };
static const struct layout *layout;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* CPU time, so that it is long on a busy machine, too. */
static void work(void)
{
	struct timespec ts;
	uint64_t begin = 0, now;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
		begin = begin ? begin : now;
	} while (now - begin < BUSY_NS);
}

static volatile int calls; /* keeps the calls below from becoming jumps */

NAMED(handle_h, "android.app.ActivityThread$H.handleMessage");
NAMED(handle_app, "com.example.shop.CartHandler.handleMessage");
NAMED(run, "com.example.shop.Refresh.run");
NAMED(handle_callback, "android.os.Handler.handleCallback");
void dispatch(void *method, void *handler,
	      void *message) __asm__("android.os.Handler.dispatchMessage");

__attribute__((noinline, used)) static void handle_h(void *message)
{
	(void)message;
	work();
	calls++;
}

__attribute__((noinline, used)) static void handle_app(void *message)
{
	(void)message;
	work();
	calls += 2;
}

__attribute__((noinline, used)) static void run(void *message)
{
	(void)message;
	work();
	calls += 3;
}

__attribute__((noinline, used)) static void handle_callback(void *message)
{
	run(message);
	calls++;
}

__attribute__((noinline)) void dispatch(void *method, void *handler, void *message)
{
	int32_t what;

	(void)method;
	(void)handler;
	memcpy(&what, (char *)message + layout->what, sizeof(what));
	if (what == 159)
		handle_h(message);
	else if (what == 7)
		handle_callback(message);
	else
		handle_app(message);
	calls++;
}

static void make(char *message, void *handler, int64_t when_ms, int32_t what)
{
	uint32_t target = (uint32_t)(uintptr_t)handler;

	memcpy(message + layout->target, &target, sizeof(target));
	memcpy(message + layout->when, &when_ms, sizeof(when_ms));
	memcpy(message + layout->what, &what, sizeof(what));
}

void loop_once(int is_new) __asm__("android.os.Looper.loopOnce");
__attribute__((noinline)) void loop_once(int is_new)
{
	static const int32_t whats[] = { 159, 4711, 7 };
	const struct itimerspec pause = { { 0, PAUSE_NS }, { 0, PAUSE_NS } };
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd end = { .fd = 0, .events = POLLIN };
	int ep = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	char message[128] = "", handler[16];
	uint64_t ticks;

	layout = &layouts[is_new];
	epoll_ctl(ep, EPOLL_CTL_ADD, timer, &event);
	timerfd_settime(timer, 0, &pause, NULL);
	for (unsigned i = 0; !poll(&end, 1, 0); i++) {
		int64_t due_ms = (int64_t)(now_ns() / 1000000);

		if (epoll_wait(ep, &event, 1, -1) != 1 || read(timer, &ticks, sizeof(ticks)) < 0)
			break;
		make(message, handler, due_ms, whats[i % 3]);
		dispatch(NULL, handler, message);
	}
}
