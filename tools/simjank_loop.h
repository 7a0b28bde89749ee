/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop: what it handles next, and when. The front end (epoll or android::Looper) does the
 * waiting. After a wait it calls loop__begin, then loop__handle if the plan is due, loop__next,
 * loop__end.
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
	uint64_t delay_ns; /* from now; for an idle wait, its timeout */
	unsigned form;
};

struct loop {
	const struct options *opt;
	unsigned index;
	int order; /* enum loop_order; the control thread sets it before it kicks */
	int done_fd;
	bool started, finishing, done;
	struct fixture stage;
	struct truth truth;
	struct plan plan;
	uint64_t next_ns;     /* when the next one of the list is due */
	uint64_t warm_end_ns; /* short ones until then, by which a tracer learns the loop */
	uint64_t random;
	uint64_t
		/* a generator of its own, because the number of short ones depends on time */
		short_random;
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
	void (*arm)(
		struct loop *loop); /* delivers loop->plan; does nothing if it has no scenario */
};
extern const struct front front_end;

/* The dispatch opens. */
static inline void loop__begin(struct loop *loop)
{
	truth__begin(&loop->truth);
}

/* The plan is due: runs its handler. */
void loop__handle(struct loop *loop);

/* Plans and arms the next step; due: this dispatch handled the plan. */
void loop__next(struct loop *loop, bool due);

/* Reports to the control thread that this loop is finished; only between its last two waits. */
void loop__tell_done(struct loop *loop);

/* The dispatch ends; the wait must follow at once. */
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
