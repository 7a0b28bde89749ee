/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that is installed stripped: libevent's bufferevents, handlers without names. Each byte
 * of input is a command: 'c' compresses in zlib, 's' sleeps in libevent, 'l' works in a library of
 * the program's package. It ends at the end of its input.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

extern void package_work(void);

static unsigned char data[1 << 20];

static __attribute__((noinline)) void compress_all(void)
{
	static unsigned char to[2 << 20];

	for (int i = 0; i < 2; i++) {
		uLongf len = sizeof(to);

		compress2(to, &len, data, sizeof(data), 9);
	}
}

/* A blocking call of the library: another event base that waits for a timer. */
static __attribute__((noinline)) void sleep_in_library(void)
{
	struct event_base *base = event_base_new();
	struct timeval time = { 0, 50000 };

	event_base_loopexit(base, &time);
	event_base_dispatch(base);
	event_base_free(base);
}

static void on_read(struct bufferevent *in, void *base)
{
	char command;

	while (bufferevent_read(in, &command, 1) == 1) {
		if (command == 'c')
			compress_all();
		else if (command == 's')
			sleep_in_library();
		else if (command == 'l')
			package_work();
	}
	(void)base;
}

static void on_event(struct bufferevent *in, short what, void *base)
{
	(void)in;
	(void)what;
	event_base_loopbreak(base);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct bufferevent *in = bufferevent_socket_new(base, 0, 0);
	struct event *tick = event_new(base, -1, EV_PERSIST, on_tick, NULL);
	const struct timeval often = { 0, 20000 };

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(random() >> 20);
	bufferevent_setcb(in, on_read, NULL, on_event, base);
	bufferevent_enable(in, EV_READ);
	event_add(tick, &often);
	event_base_dispatch(base);
	return 0;
}
