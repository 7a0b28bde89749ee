/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table of idle places by thread. */
#include "catalogue/idle_places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "model/block.h"
#include "model/sample.h"
#include "symbol/languages/runtime.h"
#include "symbol/unwind/unwind.h"

#define THREAD_MAX 8192 /* the oldest entry is dropped */

struct place {
	uint32_t tid, pid;
	uint64_t *addresses;
	uint32_t cnt;
	bool rests_outside; /* it went idle further out: what polls there may be its work */
	UT_hash_handle hh;
};

struct idle_places {
	struct symbolizer *sym;
	struct place *places;
	struct unwound unwound;
};

struct idle_places *idle_places__new(struct symbolizer *sym)
{
	struct idle_places *ret = calloc(1, sizeof(*ret));

	if (ret)
		ret->sym = sym;
	return ret;
}

static void drop(struct idle_places *places, struct place *place)
{
	HASH_DEL(places->places, place);
	free(place->addresses);
	free(place);
}

void idle_places__free(struct idle_places *places)
{
	if (!places)
		return;
	while (places->places)
		drop(places, places->places);
	free(places);
}

static struct place *find(const struct idle_places *places, uint32_t tid)
{
	struct place *place;

	HASH_FIND(hh, places->places, &tid, sizeof(tid), place);
	return place;
}

static int keep(struct idle_places *places, const struct jank_rec *hdr)
{
	size_t size = places->unwound.cnt * sizeof(*places->unwound.addresses);
	struct place *place = find(places, hdr->tid);

	if (place)
		drop(places, place);
	else if (HASH_COUNT(places->places) >= THREAD_MAX)
		drop(places, places->places);
	place = calloc(1, sizeof(*place));
	if (place) {
		place->tid = hdr->tid;
		HASH_ADD(hh, places->places, tid, sizeof(place->tid), place);
	}
	if (!place)
		return -ENOMEM;
	place->addresses = malloc(size);
	if (!place->addresses) {
		drop(places, place);
		return -ENOMEM;
	}
	place->pid = hdr->tgid;
	place->cnt = places->unwound.cnt;
	memcpy(place->addresses, places->unwound.addresses, size);
	return 0;
}

int idle_places__record(struct idle_places *places, const struct wait_note *note)
{
	struct copy_event copy;
	int res;

	if (!note->copy)
		return 0;
	copy.rec = *note->copy;
	copy.bytes = (const uint8_t *)(note->copy + 1);
	res = symbolizer__unwind(places->sym, &copy, &places->unwound, 1);
	return res ? res : keep(places, &note->rec.hdr);
}

int idle_places__prepare(const struct idle_places *places, uint32_t pid, uint32_t tid)
{
	const uint64_t in_kernel = UINT64_MAX; /* whatever it is, it needs the kernel's table */
	const struct place *place = find(places, tid);
	struct stack stack = { .kernel_cnt = 1, .user_cnt = place ? place->cnt : 0 };
	int res;

	stack.addresses = malloc((1 + stack.user_cnt) * sizeof(*stack.addresses));
	if (!stack.addresses)
		return -ENOMEM;
	stack.addresses[0] = in_kernel;
	if (place)
		memcpy(stack.addresses + 1, place->addresses,
		       place->cnt * sizeof(*place->addresses));
	res = symbolizer__stack(places->sym, pid, &stack);
	stack__free(&stack);
	return res;
}

int idle_places__fill(const struct idle_places *places, struct block *block)
{
	const struct place *place = find(places, block->tid);

	if (!place || place->pid != block->pid)
		return 0;
	free(block->idle_place.addresses); /* of an earlier call */
	block->idle_place.user_cnt = place->cnt;
	return stack__set_addresses(&block->idle_place, place->addresses);
}

/* What a chain of callers looks like, without those in the C library. */
struct shape {
	uint32_t frames;
	uint32_t runs;	/* runs of frames of one file: calls from one library into another */
	uint32_t first; /* index of the innermost */
};

static struct shape shape_of(struct symbolizer *sym, uint32_t pid, const uint64_t *addresses,
			     uint32_t cnt)
{
	struct shape ret = { .first = cnt };
	const char *last = NULL;
	struct frame frame;

	for (uint32_t i = 0; i < cnt; i++) {
		struct code_opts opts = { .exact = i == 0 };
		const char *file =
			symbolizer__code(sym, pid, addresses[i], opts, &frame) ? frame.module : "";

		if (runtime__is(file))
			continue;
		if (!ret.frames++)
			ret.first = i;
		ret.runs += !last || strcmp(file, last);
		last = file;
	}
	return ret;
}

uint32_t idle_places__depth(struct symbolizer *sym, uint32_t pid, const uint64_t *addresses,
			    uint32_t cnt)
{
	return shape_of(sym, pid, addresses, cnt).frames;
}

/* Do two calls of one function have these callers? */
static bool same_function(const struct idle_callers *a, const struct shape *a_shape,
			  const struct idle_callers *b, const struct shape *b_shape)
{
	uint32_t cnt = a->cnt - a_shape->first;

	return a_shape->frames && b_shape->frames && cnt == b->cnt - b_shape->first &&
	       !memcmp(a->addresses + a_shape->first + 1, b->addresses + b_shape->first + 1,
		       (cnt - 1) * sizeof(*a->addresses));
}

enum idle_rest idle_places__compare(const struct idle_places *places, uint32_t pid, uint32_t tid,
				    const struct idle_callers *wait)
{
	const struct place *place = find(places, tid);
	struct idle_callers polls;
	struct shape a, b;

	if (!place || place->pid != pid)
		return REST_UNKNOWN;
	polls = (struct idle_callers){ place->addresses, place->cnt };
	a = shape_of(places->sym, pid, wait->addresses, wait->cnt);
	b = shape_of(places->sym, pid, polls.addresses, polls.cnt);
	if (a.frames < b.frames || (a.frames == b.frames && a.runs < b.runs))
		return REST_OUTER;
	return same_function(wait, &a, &polls, &b) ? REST_BESIDE : REST_NONE;
}

/* A futex wait that is not a lock? */
static bool may_rest(const struct sample *sample)
{
	const struct jank_rec_waited *raw = sample->waited ? &sample->waited->raw : NULL;

	return sample->state == JANK_STATE_FUTEX && raw && raw->hdr.flags & JANK_WAITED_ARGS &&
	       !wait_object__is_lock(raw);
}

static bool is_whole(const struct stack *stack)
{
	return stack->end == STACK_END_COMPLETE;
}

static bool same_callers(const struct stack *a, const struct stack *b)
{
	return a->user_cnt == b->user_cnt &&
	       !memcmp(a->addresses + a->kernel_cnt, b->addresses + b->kernel_cnt,
		       a->user_cnt * sizeof(*a->addresses));
}

/* The number of the block's waits at this place. */
static size_t visits_of(const struct block *block, const struct stack *where)
{
	size_t cnt = 0;

	for (size_t i = 0; i < block->sample_cnt; i++)
		cnt += may_rest(&block->samples[i]) && is_whole(&block->samples[i].stack) &&
		       same_callers(&block->samples[i].stack, where);
	return cnt;
}

/*
 * Is this wait of the block a rest? Without a known loop's wait, the thread must have returned to
 * its place. Sets *outside if it is further out than the loop's wait.
 */
static bool is_rest(const struct idle_places *places, const struct block *block,
		    const struct stack *stack, bool *outside)
{
	const struct idle_callers wait = { stack->addresses + stack->kernel_cnt, stack->user_cnt };

	if (!is_whole(stack))
		return false;
	switch (idle_places__compare(places, block->pid, block->tid, &wait)) {
	case REST_UNKNOWN:
		return visits_of(block, stack) > 1;
	case REST_OUTER:
		*outside = true;
		return true;
	case REST_BESIDE:
		return block->ready_cnt <= 0;
	case REST_NONE:
		break;
	}
	return false;
}

bool idle_places__rests(struct idle_places *places, const struct block *block)
{
	struct place *place = find(places, block->tid);
	bool rests_outside = place && place->rests_outside;
	uint64_t ns = 0;

	if (block->loop != JANK_LOOP_POLL || block->tid == block->pid)
		return false;
	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];
		bool outside = false;

		if (!may_rest(sample))
			continue;
		if (is_rest(places, block, &sample->stack, &outside) || rests_outside)
			ns += sample->ns;
		if (outside && sample->ns > block->duration_ns / 2)
			place->rests_outside = true;
	}
	return ns > block->duration_ns / 2;
}

void idle_places__on_exit(struct idle_places *places, uint32_t pid)
{
	struct place *place, *next;

	HASH_ITER (hh, places->places, place, next)
		if (place->pid == pid)
			drop(places, place);
}
