/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Merging of the same stacks: what was seen fifty times is shown once, with its time. Sorting by a
 * hash keeps that cheap for a hang with tens of thousands of samples.
 */
#include "export/text/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/frame.h"

struct keyed {
	uint64_t hash;
	const struct sample *sample;
};

bool sample__is_tick(const struct sample *sample)
{
	return sample->state == JANK_STATE_RUNNING && !sample->ns;
}

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	while (len--)
		hash = (hash ^ *p++) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

static uint64_t mix_frame(uint64_t hash, const struct frame *frame)
{
	if (frame->function)
		return mix(hash, frame->function, strlen(frame->function));
	if (frame->module)
		return mix(hash, &frame->offset, sizeof(frame->offset));
	return mix(hash, &frame->address, sizeof(frame->address));
}

static uint64_t hash_sample(const struct sample *sample)
{
	size_t cnt = stack__frame_cnt(&sample->stack);
	uint64_t hash = 0xcbf29ce484222325ull;

	hash = mix(hash, &sample->state, sizeof(sample->state));
	hash = mix(hash, &sample->syscall, sizeof(sample->syscall));
	for (size_t i = 0; i < cnt; i++) {
		struct frame frame = stack__frame(&sample->stack, i);

		hash = mix_frame(hash, &frame);
	}
	return hash;
}

static bool same_stack(const struct sample *a, const struct sample *b)
{
	size_t cnt = stack__frame_cnt(&a->stack);

	if (a->state != b->state || a->syscall != b->syscall ||
	    sample__is_tick(a) != sample__is_tick(b) || cnt != stack__frame_cnt(&b->stack))
		return false;
	for (size_t i = 0; i < cnt; i++) {
		struct frame fa = stack__frame(&a->stack, i), fb = stack__frame(&b->stack, i);

		if (!frame__same(&fa, &fb))
			return false;
	}
	return true;
}

static int by_hash(const void *pa, const void *pb)
{
	const struct keyed *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* Longest first; of equals, the earlier one. */
static int by_ns(const void *pa, const void *pb)
{
	const struct fold *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->sample < b->sample ? -1 : a->sample > b->sample;
}

static bool same_waker(const struct sample *a, const struct sample *b)
{
	return a->has_waker == b->has_waker && (!a->has_waker || a->waker.tid == b->waker.tid);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_wait(const struct waited *a, const struct waited *b)
{
	if (!a || !b)
		return a == b;
	return same_text(a->path, b->path) && same_text(a->target, b->target) &&
	       same_text(a->peer, b->peer) && a->owner.tid == b->owner.tid;
}

static void fold__add(struct fold *fold, const struct sample *sample)
{
	fold->cnt++;
	fold->ns += sample->ns;
	fold->runnable_ns += sample->runnable_ns;
	fold->other_wakers |= !same_waker(fold->sample, sample);
	fold->other_waits |= !same_wait(fold->sample->waited, sample->waited);
	if (sample->ns > fold->sample->ns)
		fold->sample = sample;
}

static size_t merge(const struct keyed *keyed, size_t cnt, struct fold *folds)
{
	size_t fold_cnt = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct fold *last = fold_cnt ? &folds[fold_cnt - 1] : NULL;

		if (!i || keyed[i].hash != keyed[i - 1].hash ||
		    !same_stack(last->sample, keyed[i].sample))
			folds[fold_cnt++] = (struct fold){ .sample = keyed[i].sample };
		fold__add(&folds[fold_cnt - 1], keyed[i].sample);
	}
	return fold_cnt;
}

/* Each tick stands for an equal part of the running time, the rounding's rest included. */
static void weigh_ticks(const struct block *block, struct fold *folds, size_t cnt)
{
	unsigned __int128 ns = block->state_ns[JANK_STATE_RUNNING];
	uint64_t ticks = 0, seen = 0, given = 0;

	for (size_t i = 0; i < cnt; i++)
		ticks += sample__is_tick(folds[i].sample) ? folds[i].cnt : 0;
	for (size_t i = 0; i < cnt; i++) {
		if (!sample__is_tick(folds[i].sample))
			continue;
		seen += folds[i].cnt;
		folds[i].ns = (uint64_t)(ns * seen / ticks) - given;
		given += folds[i].ns;
	}
}

int fold__block(const struct block *block, struct fold **ret, size_t *ret_cnt)
{
	size_t cnt = block->sample_cnt;
	struct keyed *keyed = calloc(cnt + 1, sizeof(*keyed));
	struct fold *folds = calloc(cnt + 1, sizeof(*folds));
	int err = -ENOMEM;

	if (!keyed || !folds)
		goto out;
	for (size_t i = 0; i < cnt; i++)
		keyed[i] = (struct keyed){ hash_sample(&block->samples[i]), &block->samples[i] };
	qsort(keyed, cnt, sizeof(*keyed), by_hash);
	cnt = merge(keyed, cnt, folds);
	weigh_ticks(block, folds, cnt);
	qsort(folds, cnt, sizeof(*folds), by_ns);
	*ret = folds;
	*ret_cnt = cnt;
	folds = NULL;
	err = 0;
out:
	free(folds);
	free(keyed);
	return err;
}
