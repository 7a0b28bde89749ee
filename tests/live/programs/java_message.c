/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stand-in for the framework of an Android app, built as boot-framework.oat: Looper.loopOnce
 * waits in the app's android::Looper and calls Handler.dispatchMessage (ArtMethod *, Handler *,
 * Message *), whose Message has the layout of Android 10 to 15 (old) or of later ones (new). The
 * messages are, in turn:
 *
 *	159 of ActivityThread's H	4711 of an app's Handler	7, a callback
 *
 * Each takes 30 ms of CPU, in compiled code or in the app's interpreter.
 */
#include "java_message.h"

#include <string.h>

#define NAMED(function, name) static void function(void *message) __asm__(name)

struct layout {
	unsigned target, when, what;
};
static const struct layout layouts[] = { { 28, 32, 56 }, { 40, 64, 88 } };
static const struct layout *layout;

static const struct java_app *app;

/* CPU time, so that it is long on a busy machine, too. */
static void work(void)
{
	uint64_t end = java_now(CLOCK_THREAD_CPUTIME_ID) + JAVA_BUSY_NS;

	while (java_now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
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
	if (app->interpret)
		app->interpret(2);
	else
		run(message);
	calls++;
}

__attribute__((noinline)) void dispatch(void *method, void *handler, void *message)
{
	int32_t what;

	(void)method;
	(void)handler;
	memcpy(&what, (char *)message + layout->what, sizeof(what));
	if (what == 7)
		handle_callback(message);
	else if (app->interpret)
		app->interpret(what != 159);
	else if (what == 159)
		handle_h(message);
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

__attribute__((noinline)) void java_loop_once(const struct java_app *of)
{
	static const int32_t whats[] = { 159, 4711, 7 };
	char message[128] = "", handler[16];

	app = of;
	layout = &layouts[app->is_new];
	for (unsigned i = 0;; i++) {
		int64_t due_ms = (int64_t)(java_now(CLOCK_MONOTONIC) / 1000000) + app->pause_ms;

		app->poll_once(app->pause_ms);
		make(message, handler, due_ms, whats[i % 3]);
		dispatch(NULL, handler, message);
	}
}
