/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event sources of the intake thread from the start (the ring, signals, timers, stdout's end) with
 * their handlers. Other files add their own: process_life.c, intake.c.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "session/session_parts.h"

#define LOOK_MIN_NS    (20 * NS_PER_MS)
#define LOOKS_PER_HANG 5 /* so a dispatch is seen before it hangs: then on_hang_due */
#define STATUS_NS      NS_PER_SEC
#define COST_WINDOW_NS (100 * NS_PER_MS) /* the kernel's statistics are on so long */
#define COST_REST_NS   NS_PER_SEC
#define PAUSE_NS       (30 * NS_PER_MS) /* between slices of a look for main threads */
#define EARLY_LOOK_NS  (50 * NS_PER_MS) /* by then the sink thread knows most processes */

static void on_signal(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	unsigned requests = signals__take(s->end.signal_fd);

	(void)arg;
	if (requests & SIGNALS_END)
		s->end.stop = s->end.own_end = true;
	if (requests & SIGNALS_RELOAD)
		session__reload(s);
	if (requests & SIGNALS_STATE)
		session__log_state(s);
}

static void on_ring(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	ring__consume(s->ring);
	session__flush_raw(s);
}

static void on_stop(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	s->end.stop = true;
	s->end.own_end = true;
}

/* stdout has no reader; the end of a terminal also sends a signal. */
static void on_stdout_closed(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	event_loop__remove(s->event_loop, STDOUT_FILENO);
	on_stop(ctx, arg);
}

static void on_sender_end(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	event_loop__remove(s->event_loop, sender_process__fd(s->sender));
	log__error("both processes that send records have ended: nothing is sent until jankbpf "
		   "starts again; records wait in the spool");
}

static void on_more_mains(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	if (session__look_for_mains(s, false))
		return;
	event_loop__remove(s->event_loop, s->discovery.more_fd);
	s->discovery.more_fd = -1;
}

static void look_for_mains(struct session *s, bool first)
{
	if (session__look_for_mains(s, first) && s->discovery.more_fd < 0)
		s->discovery.more_fd =
			event_loop__timer(s->event_loop, PAUSE_NS, PAUSE_NS, on_more_mains, s);
}

/* The task iterator finds main threads that wait outside of epoll and poll (iter.bpf.c). */
static void on_early_look(void *ctx, uint64_t arg)
{
	(void)arg;
	look_for_mains(ctx, true);
	session__on_children(ctx);
	session__look(ctx, NULL);
}

/* Once: the load may change, but a shorter time is good for all. */
static void check_history(struct session *s)
{
	const struct history_buffers *buffers = &s->sink.history_buffers;
	uint64_t reach_ns = buffers->entries && !s->counts.told_reach
				    ? history_buffers__reach(buffers, clock__mono_ns())
				    : UINT64_MAX;
	struct strbuf time = STRBUF_INIT;

	if (reach_ns >= s->opts->record_ns)
		return;
	s->counts.told_reach = true;
	clock__add_duration(&time, reach_ns);
	log__warn("--record: the buffers hold about %s at this load: what is earlier is a gap",
		  strbuf__str(&time));
	strbuf__free(&time);
}

/* Interval between looks at the threads: short enough for hangs and for the status line. */
static uint64_t look_period(const struct options *opts)
{
	uint64_t ns = override__least_hang(opts) / LOOKS_PER_HANG;

	if (!ns || ns > LOOK_MAX_NS)
		ns = LOOK_MAX_NS;
	return ns < LOOK_MIN_NS ? LOOK_MIN_NS : ns;
}

/* Intervals and answers of an agent look themselves; the governor and the pace of marks do not. */
static bool needs_counts(const struct session *s)
{
	return s->opts->command != CMD_AGENT || s->opts->cpu_ppm || loader__has_marks(s->loader);
}

static void on_look(void *ctx, uint64_t arg)
{
	struct session *s = ctx;

	(void)arg;
	session__on_children(s);
	/* The governor or an interval may just have looked. */
	if (clock__mono_ns() - s->counts.look_ns >= look_period(s->opts) / 2) {
		if (needs_counts(s))
			session__look(s, NULL);
		else
			session__look_for_hangs(s);
	}
	session__pace_marks(s);
	mapping_events__until(&s->mappings, clock__mono_ns());
	session__scan_due(s);
	if (!s->govern.gov.blind)
		compat_watch__look(&s->compat_watch);
	cgroup_watch__look(&s->cgroup_watch);
	session__sweep(s);
	session__report_unread();
	check_history(s);
	if (s->opts->command == CMD_TRACE &&
	    clock__mono_ns() - s->counts.status_ns >= STATUS_NS - LOOK_MIN_NS) {
		s->counts.status_ns = clock__mono_ns();
		session__status(s);
	}
}

static void on_hang_due(void *ctx, uint64_t arg)
{
	(void)arg;
	session__look_for_hangs(ctx);
}

/* The user of `jankbpf top` pressed a key. */
static void on_command(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	struct top_command command;
	int res;

	while (!(res = deliver__command(s->deliver, &command))) {
		if (command.kind == TOP_END) {
			on_stop(ctx, arg);
		} else {
			s->intake.judge.threshold_ns = command.threshold_ns;
			loader__set_threshold(s->loader, command.threshold_ns);
		}
	}
	if (res == -EBADMSG)
		log__verbose("the process that draws sent a command that is not valid");
}

static void on_mains(void *ctx, uint64_t arg)
{
	(void)arg;
	look_for_mains(ctx, false);
}

static void on_cost(void *ctx, uint64_t arg)
{
	struct cost_meter *meter = ctx;
	bool in_window = meter->stats_fd >= 0;

	(void)arg;
	cost_meter__tick(meter);
	if (in_window != (meter->stats_fd >= 0))
		event_loop__set_pulse(meter->timer_fd, in_window ? COST_REST_NS : COST_WINDOW_NS);
}

static void on_machine(void *ctx, uint64_t arg)
{
	struct session *s = ctx;
	uint64_t period_ns = s->machine.period_ns;

	(void)arg;
	machine_readings__due(&s->machine);
	if (s->machine.period_ns != period_ns)
		event_loop__set_pulse(s->machine.timer_fd, s->machine.period_ns);
	sink_thread__pace(s->sink_thread);
}

int session__add_events(struct session *s, struct err *err)
{
	uint64_t look = look_period(s->opts);
	struct machine_readings *machine = &s->machine;
	int res;

	machine_readings__due(machine);
	override__hang_limits(s->opts, s->counts.hang_limits);
	if ((res = event_loop__add(s->event_loop, s->end.signal_fd, on_signal, s, 0)) < 0 ||
	    (res = event_loop__add(s->event_loop, s->end.closed_fd, on_stop, s, 0)) < 0 ||
	    (res = event_loop__add(s->event_loop, ring__fd(s->ring), on_ring, s, 0)) < 0 ||
	    (res = event_loop__pulse(s->event_loop, look, on_look, s)) < 0 ||
	    (res = s->counts.hang_fd = event_loop__alarm(s->event_loop, on_hang_due, s)) < 0 ||
	    (res = event_loop__timer(s->event_loop, EARLY_LOOK_NS, 0, on_early_look, s)) < 0 ||
	    (res = event_loop__timer(s->event_loop, 4 * EARLY_LOOK_NS, 0, on_early_look, s)) < 0 ||
	    (res = machine->timer_fd =
		     event_loop__pulse(s->event_loop, machine->period_ns, on_machine, s)) < 0 ||
	    (features__has(&s->features, FEATURE_BPF_STATS) && !s->opts->cpu_ppm &&
	     (res = s->cost_meter.timer_fd = event_loop__pulse(s->event_loop, COST_WINDOW_NS,
							       on_cost, &s->cost_meter)) < 0) ||
	    (s->discovery.mains &&
	     (res = event_loop__pulse(s->event_loop, NS_PER_SEC, on_mains, s)) < 0) ||
	    (options__traces(s->opts) && (res = session__look_for_unwatched(s)) < 0) ||
	    (s->opts->interval_ns &&
	     (res = session__time_intervals(s, s->opts->interval_ns)) < 0) ||
	    (deliver__control_fd(s->deliver) >= 0 &&
	     (res = event_loop__add(s->event_loop, deliver__control_fd(s->deliver), on_command, s,
				    0)) < 0) ||
	    (s->opts->duration_ns &&
	     (res = event_loop__timer(s->event_loop, s->opts->duration_ns, 0, on_stop, s)) < 0) ||
	    (s->sender && (res = event_loop__hangup(s->event_loop, sender_process__fd(s->sender),
						    on_sender_end, s, 0)) < 0))
		return err__set(err, -res, "cannot watch for events: %s", strerror(-res));
	if (s->opts->command != CMD_AGENT)
		event_loop__hangup(s->event_loop, STDOUT_FILENO, on_stdout_closed, s,
				   0); /* fails for a file */
	return 0;
}
