/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * simjank's loop over epoll. Three descriptors: a timer for work that is due later, an eventfd for
 * work that is due now, and another one by which the control thread starts and stops the loop. One
 * event a wait, so one scenario a dispatch.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "simjank_loop.h"

enum source { SOURCE_TIMER, SOURCE_POST, SOURCE_KICK, SOURCE_CNT };

struct epoll_front {
	int epfd;
	int fds[SOURCE_CNT];
	int timeout_ms; /* of the next wait; -1: none */
};

static int wait__epoll_wait(int epfd, struct epoll_event *event, int timeout_ms)
{
	return epoll_wait(epfd, event, 1, timeout_ms);
}

static int wait__epoll_pwait(int epfd, struct epoll_event *event, int timeout_ms)
{
	return epoll_pwait(epfd, event, 1, timeout_ms, NULL);
}

static int wait__epoll_pwait2(int epfd, struct epoll_event *event, int timeout_ms)
{
	struct timespec ts =
		clock__timespec((uint64_t)(timeout_ms < 0 ? 0 : timeout_ms) * NS_PER_MS);

	return epoll_pwait2(epfd, event, 1, timeout_ms < 0 ? NULL : &ts, NULL);
}

static const char *const wait_names[] = { "epoll_wait", "epoll_pwait", "epoll_pwait2", NULL };
static int (*const wait_calls[])(int epfd, struct epoll_event *event, int timeout_ms) = {
	wait__epoll_wait,
	wait__epoll_pwait,
	wait__epoll_pwait2,
};

static int epoll__open(struct loop *loop)
{
	struct epoll_front *front = calloc(1, sizeof(*front));

	if (!front)
		return -ENOMEM;
	loop->front = front;
	front->timeout_ms = -1;
	front->epfd = epoll_create1(EPOLL_CLOEXEC);
	front->fds[SOURCE_TIMER] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	front->fds[SOURCE_POST] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	front->fds[SOURCE_KICK] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	for (uint32_t i = 0; i < SOURCE_CNT; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		if (front->fds[i] < 0 ||
		    epoll_ctl(front->epfd, EPOLL_CTL_ADD, front->fds[i], &event))
			return -errno;
	}
	return 0;
}

/* Consumes the event; is the plan due? */
static bool epoll__take(struct epoll_front *front, int cnt, const struct epoll_event *event)
{
	uint64_t value;

	if (cnt == 0 && front->timeout_ms >= 0)
		return true;
	if (cnt <= 0 || read(front->fds[event->data.u32], &value, sizeof(value)) < 0)
		return false;
	return event->data.u32 != SOURCE_KICK;
}

static void epoll__run(struct loop *loop)
{
	int (*const wait)(int, struct epoll_event *, int) = wait_calls[loop->opt->wait_call];
	struct epoll_front *front = loop->front;
	struct epoll_event event = { 0 };

	for (;;) {
		int cnt = wait(front->epfd, &event, front->timeout_ms);
		bool due;

		loop__begin(loop);
		due = epoll__take(front, cnt, &event);
		if (due)
			loop__handle(loop);
		loop__next(loop, due);
		loop__end(loop);
	}
}

static void epoll__kick(struct loop *loop)
{
	struct epoll_front *front = loop->front;

	eventfd_write(front->fds[SOURCE_KICK], 1);
}

/* An idle wait ends by its own timeout, or by a stop. */
static void epoll__arm(struct loop *loop)
{
	struct epoll_front *front = loop->front;
	const struct plan *plan = &loop->plan;
	struct itimerspec timer = { 0 };

	front->timeout_ms = -1;
	if (plan->scenario == &scenarios[SCENARIO_idle])
		front->timeout_ms = (int)(plan->length_ns / NS_PER_MS);
	else if (plan->scenario && plan->delay_ns)
		timer.it_value = clock__timespec(plan->delay_ns);
	else if (plan->scenario)
		eventfd_write(front->fds[SOURCE_POST], 1);
	timerfd_settime(front->fds[SOURCE_TIMER], 0, &timer, NULL);
}

const struct front front_end = {
	.words = { .loop = "epoll", .wait_calls = wait_names },
	.open = epoll__open,
	.run = epoll__run,
	.kick = epoll__kick,
	.arm = epoll__arm,
};
