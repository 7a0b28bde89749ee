/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the programs of this directory: each runs a real library's loop, stalls it on purpose,
 * and reports the stalls.
 *
 * Their loop calls stall__due every STALL_TICK_MS, by a timer of its own kind. The first call
 * prints {"ready":PID}. After a byte on stdin (at once if stdin is no pipe), each kind of stall
 * falls due in turn, sleeping in the first round, computing in the second. After the last one the
 * program quits by itself. A stall prints {"kind", "how", "begin_ns", "end_ns", "tid", "frame",
 * "message"}: times by CLOCK_MONOTONIC, `frame` the function that stalls, `message` what a perfect
 * tracer would report. Exit status STALL_CANNOT: not possible here.
 */
#ifndef LOOPS_STALL_H
#define LOOPS_STALL_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS      60
#define STALL_TICK_MS 20
#define STALL_APART   4 /* ticks from one stall to the next */
#ifndef STALL_ROUNDS
#define STALL_ROUNDS 2
#endif
#define STALL_LINGER   6 /* turns after the last, while the tracer reads its descriptor */
#define STALL_LIFE_S   120
#define STALL_CANNOT   77
#define STALL_APART_FN __attribute__((noinline, unused))

enum { STALL_NONE = -1, STALL_OVER = -2 };

static int stall_round;

static inline unsigned long long stall__now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Whole lines only, even if other threads write. */
static STALL_APART_FN void stall__say(const char *line, int len)
{
	if (write(STDOUT_FILENO, line, len) != len)
		_exit(1);
}

static STALL_APART_FN void stall__cannot(const char *reason)
{
	fprintf(stderr, "%s\n", reason);
	exit(STALL_CANNOT);
}

/* Ends when a test that died leaves it behind. */
static STALL_APART_FN void stall__open(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(STALL_LIFE_S);
}

static STALL_APART_FN void stall__ready(int pid)
{
	char line[32];

	stall__say(line, snprintf(line, sizeof(line), "{\"ready\":%d}\n", pid));
}

static inline int stall__started(void)
{
	int ready;

	return ioctl(STDIN_FILENO, FIONREAD, &ready) || ready > 0;
}

/* Which of cnt stalls is due now; every tick calls it. */
static STALL_APART_FN int stall__due(int cnt)
{
	static int ready, started, ticks;
	int turn;

	if (!ready) {
		ready = 1;
		stall__ready(getpid());
	}
	started = started || stall__started();
	if (!started || ++ticks % STALL_APART)
		return STALL_NONE;
	turn = ticks / STALL_APART - 1;
	stall_round = turn / cnt;
	if (stall_round < STALL_ROUNDS)
		return turn % cnt;
	return turn < STALL_ROUNDS * cnt + STALL_LINGER ? STALL_NONE : STALL_OVER;
}

/*
 * A walk by frame pointers misses the caller of a C library function; here that is this function.
 */
static STALL_APART_FN void stall__sleep(int ms)
{
	struct timespec ts = { 0, ms * 1000000L };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static STALL_APART_FN void stall__spin(int ms)
{
	unsigned long long end_ns = stall__now() + ms * 1000000ULL;

	for (volatile long spins = 0; stall__now() < end_ns;)
		for (int i = 0; i < 10000; i++)
			spins = spins + 1;
}

/* members: of the message, as JSON. */
static STALL_APART_FN __attribute__((format(printf, 3, 4))) void
stall__here(const char *kind, const char *frame, const char *members, ...)
{
	unsigned long long begin_ns = stall__now();
	char message[512], line[1024];
	va_list args;

	if (stall_round % 2)
		stall__spin(STALL_MS);
	else
		stall__sleep(STALL_MS);
	va_start(args, members);
	vsnprintf(message, sizeof(message), members, args);
	va_end(args);
	stall__say(line,
		   snprintf(line, sizeof(line),
			    "{\"kind\":\"%s\",\"how\":\"%s\",\"begin_ns\":%llu,\"end_ns\":%llu,"
			    "\"tid\":%d,\"frame\":\"%s\",\"message\":{%s}}\n",
			    kind, stall_round % 2 ? "cpu" : "sleep", begin_ns, stall__now(),
			    (int)gettid(), frame, message));
}

/* A stall of the calling function; the rest is the message's members and their arguments. */
#define STALL(kind, ...) stall__here(kind, __func__, __VA_ARGS__)

/* The message's callback is the calling function. */
#define STALL_CALLBACK(kind) STALL(kind, "\"callback\":\"%s\"", __func__)

#endif
