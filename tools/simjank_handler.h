/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the handlers. Every handler, and the do_… function below it that waits, is a separate
 * function with a frame pointer and a stable name: a tracer should blame these. There are two of
 * them, because a walk by frame pointers from inside libc, which has none, skips libc's caller.
 */
#ifndef SIMJANK_HANDLER_H
#define SIMJANK_HANDLER_H

#include "simjank_clock.h"
#include "simjank_fixture.h"
#include "simjank_scenario.h"

#if defined(__GNUC__) && !defined(__clang__)
#define WHOLE __attribute__((noipa)) /* no .isra, .constprop or .part of it */
#else
#define WHOLE __attribute__((noinline))
#endif

#define HANDLER(name) WHOLE void handle_##name(struct fixture *stage, uint64_t end_ns)

#define SIMJANK_X_HANDLER(name, ...) HANDLER(name);
SIMJANK_SCENARIOS(SIMJANK_X_HANDLER)
#undef SIMJANK_X_HANDLER

/* The next dispatch may run on any CPU again, after one that did not restore its affinity. */
void bound__end(struct fixture *stage);

/* Used by handlers of several files. */
void do_sleep(uint64_t end_ns);
void do_lock(struct fixture *stage);
void do_read_pipe(struct fixture *stage);
void do_recv(int fd);

#endif
