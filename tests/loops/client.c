/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Not a loop: a client that sends requests to a server (its child) and polls for each answer once,
 * from several places. Between them it works longer than any threshold. Its `work` is no stall, and
 * no block.
 */
#include <poll.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "stall.h"

#define ASKED 12

static int pair[2];

static STALL_APART_FN void ask(void)
{
	if (write(pair[0], "?", 1) != 1)
		_exit(1);
}

static STALL_APART_FN void answer(void)
{
	char byte;

	if (read(pair[0], &byte, 1) != 1)
		_exit(1);
}

static STALL_APART_FN void look_up(void)
{
	struct pollfd polled = { .fd = pair[0], .events = POLLIN };

	ask();
	poll(&polled, 1, 5000);
	answer();
}

static STALL_APART_FN void store(void)
{
	struct pollfd polled = { .fd = pair[0], .events = POLLIN };
	static const struct timespec limit = { 5, 0 };

	ask();
	ppoll(&polled, 1, &limit, NULL);
	answer();
}

static STALL_APART_FN void remove_all(void)
{
	struct timeval limit = { 5, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pair[0], &set);
	ask();
	select(pair[0] + 1, &set, NULL, NULL, &limit);
	answer();
}

/* Calls are at different depths of the stack. */
static STALL_APART_FN void call(void (*what)(void), int depth)
{
	volatile char room[64];

	room[0] = depth;
	if (depth)
		call(what, depth - 1);
	else
		what();
	(void)room[0];
}

static void work(void)
{
	unsigned long long begin_ns = stall__now();
	char line[200];

	stall__sleep(STALL_MS);
	stall__say(line,
		   snprintf(line, sizeof(line),
			    "{\"kind\":\"work\",\"begin_ns\":%llu,\"end_ns\":%llu,\"tid\":%d}\n",
			    begin_ns, stall__now(), (int)gettid()));
}

static int serve(void)
{
	char byte;

	stall__open();
	while (read(pair[1], &byte, 1) == 1) {
		stall__sleep(STALL_TICK_MS);
		if (write(pair[1], "!", 1) != 1)
			return 1;
	}
	return 0;
}

int main(void)
{
	static void (*const calls[])(void) = { look_up, store, remove_all };
	char byte;

	stall__open();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	if (!fork())
		return close(pair[0]), serve();
	close(pair[1]);
	stall__ready(getpid());
	if (read(STDIN_FILENO, &byte, 1) < 0)
		return 1;
	for (int i = 0; i < ASKED; i++) {
		call(calls[i % 3], i % 5);
		work();
	}
	return 0;
}
