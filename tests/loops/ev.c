/* SPDX-License-Identifier: GPL-2.0 */
/* libev: a timer, a readable descriptor, an async, idle and check watchers. */
#include <ev.h>

#include "stall.h"

static ev_timer timer;
static ev_io readable;
static ev_async async;
static ev_idle idle;
static ev_check check;
static int fds[2];

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int events)
{
	STALL_CALLBACK("timer");
}

static void on_io(struct ev_loop *loop, ev_io *watcher, int events)
{
	char byte;

	if (read(watcher->fd, &byte, 1) == 1)
		STALL("io", "\"callback\":\"%s\",\"fd\":%d,\"fd_target\":\"pipe\"", __func__,
		      watcher->fd);
}

static void on_async(struct ev_loop *loop, ev_async *watcher, int events)
{
	STALL_CALLBACK("async");
}

static void on_idle(struct ev_loop *loop, ev_idle *watcher, int events)
{
	ev_idle_stop(loop, watcher);
	STALL_CALLBACK("idle");
}

static void on_check(struct ev_loop *loop, ev_check *watcher, int events)
{
	ev_check_stop(loop, watcher);
	STALL_CALLBACK("check");
}

static void poke(void)
{
	if (write(fds[1], "x", 1) != 1)
		_exit(1);
}

static void on_tick(struct ev_loop *loop, ev_timer *watcher, int events)
{
	switch (stall__due(5)) {
	case 0:
		ev_timer_init(&timer, on_timer, 0.001, 0);
		ev_timer_start(loop, &timer);
		break;
	case 1:
		poke();
		break;
	case 2:
		ev_async_send(loop, &async);
		break;
	case 3:
		ev_idle_start(loop, &idle);
		break;
	case 4:
		ev_check_start(loop, &check);
		break;
	case STALL_OVER:
		ev_break(loop, EVBREAK_ALL);
	}
}

int main(void)
{
	struct ev_loop *loop = ev_default_loop(0);
	static ev_timer tick;

	stall__open();
	if (pipe(fds))
		return 1;
	ev_io_init(&readable, on_io, fds[0], EV_READ);
	ev_io_start(loop, &readable);
	ev_async_init(&async, on_async);
	ev_async_start(loop, &async);
	ev_idle_init(&idle, on_idle);
	ev_check_init(&check, on_check);
	ev_timer_init(&tick, on_tick, STALL_TICK_MS / 1e3, STALL_TICK_MS / 1e3);
	ev_timer_start(loop, &tick);
	ev_run(loop, 0);
	return 0;
}
