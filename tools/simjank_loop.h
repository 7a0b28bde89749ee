/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop: what it handles next and when. The front end (epoll or android::Looper) owns the waiting;
 * it calls loop__begin after it, loop__handle when what was planned is due, loop__next, loop__end.
 */
#ifndef SIMJANK_LOOP_H
#define SIMJANK_LOOP_H

#include <semaphore.h>

#include "simjank_fixture.h"
#include "simjank_options.h"
#include "simjank_truth.h"

#ifdef __cplusplus
extern "C" {
#endif

enum loop_order { ORDER_WAIT, ORDER_START, ORDER_STOP };

struct plan {
	const struct scenario *scenario; /* NULL: none */
	uint64_t length_ns;
	uint64_t delay_ns; /* from now; of an idle wait, its time-out */
	unsigned form;
};

struct loop {
	const struct options *opt;
	unsigned index;
	int order; /* enum loop_order, set by the control thread before it kicks */
	int done_fd;
	bool started, finishing, done;
	struct fixture stage;
	struct truth truth;
	struct plan plan;
	uint64_t next_ns;     /* the next one from the list is due */
	uint64_t warm_end_ns; /* until then short ones, for a tracer to learn the loop by */
	uint64_t random;
	uint64_t
		short_random; /* its own, since how many short ones there are is a matter of time */
	uint64_t picked_cnt;
	size_t order_at;
	void *front; /* the front end's own */
};

/* A kind of loop. Each build has one. */
struct front {
	struct options_words words;
	int (*open)(struct loop *loop);	 /* by the loop's thread; -errno */
	void (*run)(struct loop *loop);	 /* never returns */
	void (*kick)(struct loop *loop); /* from any thread: ends its wait */
	void (*arm)(struct loop *loop);	 /* deliver loop->plan; nothing, when it has no scenario */
};
extern const struct front front_end;

/* The dispatch opens. */
static inline void loop__begin(struct loop *loop)
{
	truth__begin(&loop->truth);
}

/* What was planned is due: do it. */
void loop__handle(struct loop *loop);

/* Plans and arms what follows; due: the plan was handled in this dispatch. */
void loop__next(struct loop *loop, bool due);

/* Tells the control thread that this loop is through; only ever between its last two waits. */
void loop__tell_done(struct loop *loop);

/* The dispatch ends, the wait must follow at once. */
static inline void loop__end(struct loop *loop)
{
	truth__end(&loop->truth);
	if (__builtin_expect(loop->finishing, 0))
		loop__tell_done(loop);
}

#ifdef __cplusplus
}
#endif
#endif
