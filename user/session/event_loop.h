/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session's one epoll: descriptors with the function that each wakes; timers among them. */
#ifndef JANK_SESSION_EVENT_LOOP_H
#define JANK_SESSION_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>

typedef void (*watch_fn)(void *ctx, uint64_t arg);

struct event_loop;

struct event_loop *event_loop__new(void);
void event_loop__free(struct event_loop *watch); /* closes the timers; accepts NULL */

/* Calls fn(ctx, arg) whenever fd is readable. The fd stays the caller's. 0 or -errno. */
int event_loop__add(struct event_loop *watch, int fd, watch_fn fn, void *ctx, uint64_t arg);
/*
 * Calls it once nobody is left at the other end of a pipe, socket or terminal. -EPERM: fd has none.
 */
int event_loop__hangup(struct event_loop *watch, int fd, watch_fn fn, void *ctx, uint64_t arg);
void event_loop__remove(struct event_loop *watch, int fd);

/*
 * A timer: first after first_ns, then every period_ns (0: once). Returns its descriptor or -errno.
 */
int event_loop__timer(struct event_loop *watch, uint64_t first_ns, uint64_t period_ns, watch_fn fn,
		      void *ctx);

/* Waits for one round of events and calls their functions. 0 or -errno. */
int event_loop__round(struct event_loop *watch);

/* The signals that end a run, as a descriptor; and back to what they do by themselves. */

/* From now on a write that nobody takes fails, and does not end us. */
void signals__write_errors(void);

/* The same, and the ending signals come by the descriptor that is returned. -errno. */
int signals__open(void);

/* Reads what has come: was any of them meant to end the run? */
bool signals__end(int fd);

/* The next one ends the process at once: for a run whose output nobody takes. */
void signals__default(int fd);

#endif
