/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pause of an agent, and its control socket. The probes stay attached: while it is paused, no
 * dispatch is over the threshold, and what the kernel counts is left out of intervals and summary.
 * A pause begins and ends with an interval, so each interval is paused as a whole or not at all.
 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/proto.h"
#include "session/session_parts.h"

void session__use_threshold(struct session *s)
{
	uint64_t ns = override__least_of_all(session__options(s));

	loader__set_threshold(s->loader, s->pause.on ? UINT64_MAX : ns);
}

void pause__free(struct pause *pause)
{
	hists__free(pause->excluded);
	pause->excluded = NULL;
}

/* First the probes: a hang that they send after the interval would be dropped here, and be told. */
static void set_paused(struct session *s, bool on)
{
	if (on)
		loader__set_threshold(s->loader, UINT64_MAX);
	session__interval(s);
	s->pause.on = on;
	s->pause.since_ns = clock__mono_ns();
	session__use_threshold(s);
	session__tell_status(s);
}

/* NULL, or why not. */
static const char *pause_now(struct session *s)
{
	if (s->pause.on)
		return "it is paused already";
	set_paused(s, true);
	log__info("paused: nothing is recorded; jankbpf agent --resume ends it");
	return NULL;
}

static const char *resume_now(struct session *s)
{
	struct strbuf time = STRBUF_INIT;

	if (!s->pause.on)
		return "it is not paused";
	clock__add_duration(&time, clock__mono_ns() - s->pause.since_ns);
	set_paused(s, false);
	log__info("resumed after %s", strbuf__str(&time));
	strbuf__free(&time);
	return NULL;
}

/* --- the control socket */

static void answer(struct session *s, int fd, enum control_request request)
{
	struct strbuf text = STRBUF_INIT;
	const char *error = NULL;

	if (request == CONTROL_PAUSE)
		error = pause_now(s);
	else if (request == CONTROL_RESUME)
		error = resume_now(s);
	else if (request == CONTROL_STATUS)
		session__add_state(s, &text);
	else
		session__add_state_json(s, &text);
	if (text.failed)
		error = "out of memory";
	control__answer(&s->control, fd, error, strbuf__str(&text));
	strbuf__free(&text);
}

static void on_client(void *ctx, uint64_t fd)
{
	struct session *s = ctx;
	enum control_request request;
	int res = control__read(&s->control, (int)fd, &request);

	if (!res)
		return;
	event_loop__remove(s->event_loop, (int)fd);
	if (res > 0)
		answer(s, (int)fd, request);
}

static void on_connection(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	int dropped, fd = control__accept(&s->control, &dropped);

	(void)arg;
	if (fd == -EPERM)
		log__warn("'%s': a user other than root asked, and got no answer", s->control.path);
	if (dropped >= 0) {
		event_loop__remove(s->event_loop, dropped);
		close(dropped);
	}
	if (fd >= 0)
		event_loop__add(s->event_loop, fd, on_client, s, (uint64_t)fd);
}

int session__begin_control(struct session *s)
{
	if (s->control.sock < 0)
		return 0;
	return event_loop__add(s->event_loop, s->control.sock, on_connection, s, 0);
}
