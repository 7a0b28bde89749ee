/* SPDX-License-Identifier: GPL-2.0 */
/* Between the stand-in for the framework of an Android app (java_message.c) and the app. */
#ifndef JAVA_MESSAGE_H
#define JAVA_MESSAGE_H

#include <stdint.h>
#include <time.h>

#define JAVA_BUSY_NS 30000000u

struct java_app {
	int is_new;   /* the layout of android.os.Message */
	int pause_ms; /* between two messages */
	void (*poll_once)(int timeout_ms);
	void (*interpret)(unsigned handler); /* runs the handler's method; NULL: it is compiled */
};

void java_loop_once(const struct java_app *app) __asm__("android.os.Looper.loopOnce");

static inline uint64_t java_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

#endif
