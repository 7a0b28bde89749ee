/* SPDX-License-Identifier: GPL-2.0 */
/* A worker that goes to rest: when is the time in its block no block at all? */
#include "catalogue/idle_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/tap.h"

#define MS NS_PER_MS

/* A worker's waits in a futex, by callers (a number) and length. */
struct wait {
	uint64_t caller, ms;
	uint32_t lock; /* the word that it waits for belongs to a contended lock */
	enum stack_end end;
};

static bool rests(uint32_t tid, uint32_t loop, const struct wait *waits, size_t cnt)
{
	struct idle_places *places = idle_places__new(NULL);
	struct block *block = block__new();
	bool ret;

	block->pid = 10;
	block->tid = tid;
	block->loop = loop;
	block->duration_ns = 100 * MS;
	block->samples = calloc(cnt, sizeof(*block->samples));
	block->sample_cnt = cnt;
	for (size_t i = 0; i < cnt; i++) {
		struct sample *sample = &block->samples[i];
		struct jank_rec_waited raw = { .hdr.flags = JANK_WAITED_ARGS };

		raw.args[2] = waits[i].lock;
		sample->waited = wait_object__new(&raw);
		sample->state = JANK_STATE_FUTEX;
		sample->ns = waits[i].ms * MS;
		sample->stack.end = waits[i].end;
		sample->stack.user_cnt = 2;
		sample->stack.addresses = calloc(2, sizeof(uint64_t));
		sample->stack.addresses[0] = 1;
		sample->stack.addresses[1] = waits[i].caller;
	}
	ret = idle_places__rests(places, block);
	block__free(block);
	idle_places__free(places);
	return ret;
}

int main(void)
{
	const struct wait twice[] = { { 7, 30, 0, STACK_END_COMPLETE },
				      { 7, 40, 0, STACK_END_COMPLETE } };
	const struct wait once[] = { { 7, 90, 0, STACK_END_COMPLETE } };
	const struct wait others[] = { { 7, 40, 0, STACK_END_COMPLETE },
				       { 8, 40, 0, STACK_END_COMPLETE } };
	const struct wait brief[] = { { 7, 10, 0, STACK_END_COMPLETE },
				      { 7, 20, 0, STACK_END_COMPLETE } };
	const struct wait locks[] = { { 7, 30, 2, STACK_END_COMPLETE },
				      { 7, 40, 2, STACK_END_COMPLETE } };
	const struct wait cut[] = { { 7, 30, 0, STACK_END_COPY }, { 7, 40, 0, STACK_END_COPY } };

	ok(rests(11, JANK_LOOP_POLL, twice, 2),
	   "a worker that returns to one place for most of the time");
	ok(!rests(10, JANK_LOOP_POLL, twice, 2), "a main thread's block is one");
	ok(!rests(11, JANK_LOOP_EPOLL, twice, 2),
	   "so is the block of a thread that waits in epoll");
	ok(!rests(11, JANK_LOOP_POLL, once, 1),
	   "a single wait is a handler's, if the loop's callers are not known");
	ok(!rests(11, JANK_LOOP_POLL, others, 2), "two places");
	ok(!rests(11, JANK_LOOP_POLL, brief, 2), "less than half of the time");
	ok(!rests(11, JANK_LOOP_POLL, locks, 2), "locks");
	ok(!rests(11, JANK_LOOP_POLL, cut, 2), "callers that are not all known");
	return tap__done();
}
