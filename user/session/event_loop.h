/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session's epoll loop: descriptors and timers with their callbacks. Used on the intake thread.
 */
#ifndef JANK_SESSION_EVENT_LOOP_H
#define JANK_SESSION_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef void (*event_fn)(void *ctx, uint64_t arg);

struct event_loop;

struct event_loop *event_loop__new(void);
void event_loop__free(struct event_loop *loop); /* closes the timers; accepts NULL */

/* Calls fn(ctx, arg) whenever fd is readable. The caller keeps fd. Returns 0 or -errno. */
int event_loop__add(struct event_loop *loop, int fd, event_fn fn, void *ctx, uint64_t arg);
/*
 * Calls fn once the other end of a pipe, socket or terminal is closed. -EPERM: fd has no other end.
 */
int event_loop__hangup(struct event_loop *loop, int fd, event_fn fn, void *ctx, uint64_t arg);
void event_loop__remove(struct event_loop *loop, int fd);

/*
 * Starts a timer that fires after first_ns, then every period_ns (0: once). Returns its descriptor
 * or -errno.
 */
int event_loop__timer(struct event_loop *loop, uint64_t first_ns, uint64_t period_ns, event_fn fn,
		      void *ctx);

/*
 * A timer that fires at the multiples of its period, first after less than one: several of them
 * wake the thread once. The second function changes the period.
 */
int event_loop__pulse(struct event_loop *loop, uint64_t period_ns, event_fn fn, void *ctx);
void event_loop__set_pulse(int fd, uint64_t period_ns);

/* A timer that fires once, at the time (CLOCK_MONOTONIC) that event_loop__set_alarm gives it. */
int event_loop__alarm(struct event_loop *loop, event_fn fn, void *ctx);
void event_loop__set_alarm(int fd, uint64_t at_ns);

/* Waits for one round of events and calls their functions. Returns 0 or -errno. */
int event_loop__round(struct event_loop *loop);

/* --- signals that end a run, as a descriptor */

/* Ignores SIGPIPE: a write without a reader fails and does not end the process. */
void signals__write_errors(void);

/*
 * The same. From now on, an ending signal ends the process at once with status 0, after `message`
 * on stderr: a start has steps of seconds that nothing else interrupts, and nothing to keep.
 * Returns a descriptor for signals__take, or -errno. Call it on the main thread; other threads must
 * have these signals blocked.
 */
int signals__open(const char *message);

/*
 * For the agent, before signals__open: SIGHUP and SIGUSR1 are requests of signals__take. They wait
 * until it is called, from the start on.
 */
void signals__take_requests(void);

/* From now on, ending signals wait for signals__take: the run has something to finish. */
void signals__block(void);

/* What pending signals ask for. */
enum signal_request { SIGNALS_END = 1, SIGNALS_RELOAD = 2, SIGNALS_STATE = 4 };

/* Reads the pending signals. Returns the sum of their requests. */
unsigned signals__take(int fd);

/*
 * Restores the default action: the next signal ends the process at once. For a run with a blocked
 * reader of its output.
 */
void signals__default(int fd);

#endif
