/* SPDX-License-Identifier: GPL-2.0 */
/* sd-event: time, io, defer and signal sources, with descriptions. */
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "stall.h"

static sd_event_source *tick, *timer, *deferred;
static int fds[2];

static int on_time(sd_event_source *source, uint64_t usec, void *data)
{
	STALL("time", "\"callback\":\"%s\",\"source\":\"jank-time\"", __func__);
	return 0;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *data)
{
	char byte;

	if (read(fd, &byte, 1) == 1)
		STALL("io",
		      "\"callback\":\"%s\",\"source\":\"jank-io\",\"fd\":%d,\"fd_target\":\"pipe\"",
		      __func__, fd);
	return 0;
}

static int on_defer(sd_event_source *source, void *data)
{
	STALL("defer", "\"callback\":\"%s\",\"source\":\"jank-defer\"", __func__);
	return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	STALL("signal", "\"callback\":\"%s\",\"source\":\"jank-signal\"", __func__);
	return 0;
}

static void poke(void)
{
	if (write(fds[1], "x", 1) != 1)
		_exit(1);
}

static void start(sd_event *event, sd_event_source *source, unsigned ms)
{
	uint64_t now;

	sd_event_now(event, CLOCK_MONOTONIC, &now);
	sd_event_source_set_time(source, now + ms * 1000);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *data)
{
	sd_event *event = sd_event_source_get_event(source);

	start(event, source, STALL_TICK_MS);
	switch (stall__due(4)) {
	case 0:
		start(event, timer, 1);
		break;
	case 1:
		poke();
		break;
	case 2:
		sd_event_source_set_enabled(deferred, SD_EVENT_ONESHOT);
		break;
	case 3:
		raise(SIGUSR1);
		break;
	case STALL_OVER:
		return sd_event_exit(event, 0);
	}
	return 0;
}

static sd_event_source *add_timer(sd_event *event, sd_event_time_handler_t callback)
{
	sd_event_source *source = NULL;

	if (sd_event_add_time(event, &source, CLOCK_MONOTONIC, 0, 1, callback, NULL) < 0)
		exit(1);
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return source;
}

int main(void)
{
	sd_event_source *io, *signalled;
	sd_event *event;
	sigset_t signals;

	stall__open();
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (pipe(fds) || sd_event_new(&event) < 0 ||
	    sd_event_add_io(event, &io, fds[0], EPOLLIN, on_io, NULL) < 0 ||
	    sd_event_add_defer(event, &deferred, on_defer, NULL) < 0 ||
	    sd_event_add_signal(event, &signalled, SIGUSR1, on_signal, NULL) < 0)
		return 1;
	sd_event_source_set_enabled(deferred, SD_EVENT_OFF);
	timer = add_timer(event, on_time);
	tick = add_timer(event, on_tick);
	sd_event_source_set_description(io, "jank-io");
	sd_event_source_set_description(deferred, "jank-defer");
	sd_event_source_set_description(signalled, "jank-signal");
	sd_event_source_set_description(timer, "jank-time");
	start(event, tick, STALL_TICK_MS);
	return sd_event_loop(event) < 0;
}
