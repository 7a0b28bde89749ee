/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A dispatch that waited, and what other threads did meanwhile: for the tests of the chain of
 * threads that it waited for.
 */
#ifndef JANK_CHAIN_FIXTURE_H
#define JANK_CHAIN_FIXTURE_H

#include "model/chain/chain.h"
#include "tests/unit/loops_fixture.h"

#define MAIN  11
#define START 1000
#define BEGIN (10 * MS) /* of the wait to explain */
#define NS    (100 * MS)
#define END   (BEGIN + NS)

/* A wait of the dispatch, as a futex's; not fed yet. */
static inline struct fixture_stack wait_of_main(uint64_t begin, uint64_t ns, uint32_t waker)
{
	struct fixture_stack ret = fixture__stack(MAIN, START, begin, ns);

	ret.rec.state = JANK_STATE_FUTEX;
	ret.rec.hdr.ts_ns = begin + ns;
	if (waker)
		fixture__woken_by(&ret, waker);
	return ret;
}

static inline void feed_wait(struct loops *loops, uint64_t begin, uint64_t ns, uint32_t waker)
{
	struct fixture_stack rec = wait_of_main(begin, ns, waker);

	feed(loops, &rec);
}

/* A span of another thread; waker 0: unknown. */
static inline void feed_other(struct loops *loops, uint32_t tid, uint64_t begin, uint64_t ns,
			      uint32_t state, uint32_t waker)
{
	struct fixture_stack rec = fixture__other(tid, begin, ns, state);

	if (waker)
		fixture__woken_by(&rec, waker);
	feed(loops, &rec);
}

static inline void feed_mutex(struct loops *loops, uint32_t tid, uint64_t dispatch_ns,
			      uint64_t t_ns, uint32_t owner, uint64_t address)
{
	struct jank_rec_waited rec = fixture__waited(tid, dispatch_ns, t_ns, owner);

	rec.hdr.flags |= JANK_WAITED_ARGS;
	rec.args[0] = address;
	rec.args[1] = 128;
	rec.args[2] = 2;
	feed(loops, &rec);
}

static inline struct dispatch *complete(struct loops *loops, struct jank_rec_block rec)
{
	struct dispatch *dispatch;

	is_int(fixture__feed(loops, &rec, &dispatch), 0, "the dispatch is complete");
	return dispatch;
}

static inline struct dispatch *block(struct loops *loops)
{
	return complete(loops, fixture__block(MAIN, START, 500 * MS));
}

/* Ends the dispatch, after a wait from BEGIN to END that this thread ended; 0: unknown. */
static inline struct dispatch *block_woken_by(struct loops *loops, uint32_t waker)
{
	feed_wait(loops, BEGIN, NS, waker);
	return block(loops);
}

static inline void done(struct loops *loops, struct dispatch *dispatch)
{
	dispatch__free(dispatch);
	loops__free(loops);
}

#endif
