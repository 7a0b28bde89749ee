/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libevent: a timer, a readable descriptor, a signal, an event made active by hand, a bufferevent.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <sys/socket.h>

#include "stall.h"

static struct event *timer, *readable, *active;
static int fds[2], pair[2];

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	STALL_CALLBACK("timer");
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	char byte;

	if (read(fd, &byte, 1) == 1)
		STALL("readable", "\"callback\":\"%s\",\"fd\":%d,\"fd_target\":\"pipe\"", __func__,
		      fd);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	STALL_CALLBACK("signal");
}

static void on_active(evutil_socket_t fd, short what, void *arg)
{
	STALL_CALLBACK("active");
}

static void on_data(struct bufferevent *buffer, void *arg)
{
	evbuffer_drain(bufferevent_get_input(buffer), 1);
	STALL("buffer", "\"fd\":%d,\"fd_target\":\"unix\"", bufferevent_getfd(buffer));
}

static void poke(int fd)
{
	if (write(fd, "x", 1) != 1)
		_exit(1);
}

static void on_tick(evutil_socket_t fd, short what, void *base)
{
	static const struct timeval soon = { 0, 1000 };

	switch (stall__due(5)) {
	case 0:
		evtimer_add(timer, &soon);
		break;
	case 1:
		poke(fds[1]);
		break;
	case 2:
		raise(SIGUSR1);
		break;
	case 3:
		event_active(active, EV_TIMEOUT, 0);
		break;
	case 4:
		poke(pair[1]);
		break;
	case STALL_OVER:
		event_base_loopbreak(base);
	}
}

int main(void)
{
	static const struct timeval often = { 0, STALL_TICK_MS * 1000 };
	struct event_base *base = event_base_new();
	struct bufferevent *buffer;

	stall__open();
	if (pipe(fds) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		return 1;
	timer = evtimer_new(base, on_timer, NULL);
	readable = event_new(base, fds[0], EV_READ | EV_PERSIST, on_readable, NULL);
	active = event_new(base, -1, 0, on_active, NULL);
	buffer = bufferevent_socket_new(base, pair[0], 0);
	bufferevent_setcb(buffer, on_data, NULL, NULL, NULL);
	bufferevent_enable(buffer, EV_READ);
	event_add(readable, NULL);
	event_add(evsignal_new(base, SIGUSR1, on_signal, NULL), NULL);
	event_add(event_new(base, -1, EV_PERSIST, on_tick, base), &often);
	return event_base_dispatch(base) < 0;
}
