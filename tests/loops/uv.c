/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libuv: a timer, a descriptor, an async, idle and check handles, and the callback after the thread
 * pool's work.
 */
#include <uv.h>

#include "stall.h"

static uv_timer_t timer;
static uv_poll_t readable;
static uv_async_t async;
static uv_idle_t idle;
static uv_check_t check;
static uv_work_t work;
static int fds[2];

static void on_timer(uv_timer_t *handle)
{
	STALL_CALLBACK("timer");
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	char byte;

	if (read(fds[0], &byte, 1) == 1)
		STALL("poll", "\"callback\":\"%s\",\"fd\":%d,\"fd_target\":\"pipe\"", __func__,
		      fds[0]);
}

static void on_async(uv_async_t *handle)
{
	STALL_CALLBACK("async");
}

static void on_idle(uv_idle_t *handle)
{
	uv_idle_stop(handle);
	STALL_CALLBACK("idle");
}

static void on_check(uv_check_t *handle)
{
	uv_check_stop(handle);
	STALL_CALLBACK("check");
}

static void in_pool(uv_work_t *request)
{
	stall__sleep(STALL_MS); /* no stall: not in the loop */
}

/* The pool starts at its first use, which must wait for its threads. */
static void warm_pool(uv_loop_t *loop)
{
	static uv_work_t first;

	uv_queue_work(loop, &first, in_pool, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
}

static void after_work(uv_work_t *request, int status)
{
	STALL_CALLBACK("work");
}

static void poke(void)
{
	if (write(fds[1], "x", 1) != 1)
		_exit(1);
}

static void on_tick(uv_timer_t *handle)
{
	switch (stall__due(6)) {
	case 0:
		uv_timer_start(&timer, on_timer, 1, 0);
		break;
	case 1:
		poke();
		break;
	case 2:
		uv_async_send(&async);
		break;
	case 3:
		uv_idle_start(&idle, on_idle);
		break;
	case 4:
		uv_check_start(&check, on_check);
		break;
	case 5:
		uv_queue_work(handle->loop, &work, in_pool, after_work);
		break;
	case STALL_OVER:
		uv_stop(handle->loop);
	}
}

int main(void)
{
	uv_loop_t *loop = uv_default_loop();
	static uv_timer_t tick;

	stall__open();
	if (pipe(fds))
		return 1;
	warm_pool(loop);
	uv_timer_init(loop, &timer);
	uv_poll_init(loop, &readable, fds[0]);
	uv_poll_start(&readable, UV_READABLE, on_poll);
	uv_async_init(loop, &async, on_async);
	uv_idle_init(loop, &idle);
	uv_check_init(loop, &check);
	uv_timer_init(loop, &tick);
	uv_timer_start(&tick, on_tick, STALL_TICK_MS, STALL_TICK_MS);
	uv_run(loop, UV_RUN_DEFAULT);
	return 0;
}
