/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighs the samples of a part, and compares its waits: reason, object and call. */
#include "verdict/analysis.h"

#include <string.h>

#include "base/text.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"

/* Compared with each sample of the part: bounds the work for a block of thousands of waits. */
#define CANDIDATE_MAX 64

uint64_t analysis__weight(const struct analysis *analysis, size_t i, size_t part)
{
	const struct sample *sample = &analysis->block->samples[i];
	uint32_t state = analysis->block->cause.parts[part].state;

	if (sample->state != state)
		return state == JANK_STATE_RUNNABLE ? sample->runnable_ns : 0;
	if (analysis->part[i] != (int)part)
		return 0;
	if (state != JANK_STATE_RUNNABLE && sample->ns > sample->runnable_ns)
		return sample->ns - sample->runnable_ns;
	return sample->ns ? sample->ns : 1;
}

/* --- which waits are the same */

static bool is_known(const struct jank_rec_waited *a, const struct jank_rec_waited *b,
		     unsigned flag)
{
	return a->hdr.flags & b->hdr.flags & flag;
}

/* Of a futex: the lock or condition. Unknown objects are equal only if both are unknown. */
static bool is_same_object(const struct sample *x, const struct sample *y)
{
	const struct wait_object *a = x->waited, *b = y->waited;

	if (!a || !b)
		return !a && !b;
	if (x->state == JANK_STATE_FUTEX)
		return wait_object__is_same_futex(&a->raw, &b->raw) ||
		       !((a->raw.hdr.flags | b->raw.hdr.flags) & JANK_WAITED_ARGS);
	if (a->peer && b->peer)
		return !strcmp(a->peer, b->peer);
	if (is_known(&a->raw, &b->raw, JANK_WAITED_BINDER))
		return a->raw.peer_pid == b->raw.peer_pid &&
		       a->raw.binder_code == b->raw.binder_code;
	if (is_known(&a->raw, &b->raw, JANK_WAITED_FILE))
		return a->raw.inode == b->raw.inode && a->raw.dev == b->raw.dev;
	if (is_known(&a->raw, &b->raw, JANK_WAITED_PATH))
		return a->raw.fd == b->raw.fd && !strcmp(a->raw.name, b->raw.name);
	return !((a->raw.hdr.flags ^ b->raw.hdr.flags) & (JANK_WAITED_FILE | JANK_WAITED_PATH));
}

static bool is_same_frame(const struct frame *a, const struct frame *b)
{
	return !a || !b ? a == b : stack__same_code(a, b);
}

bool analysis__is_same(const struct analysis *analysis, const struct sample *a,
		       const struct sample *b, unsigned what)
{
	size_t i = a - analysis->block->samples, k = b - analysis->block->samples;

	if (a->state != b->state || !text__same(analysis->reasons[i], analysis->reasons[k]))
		return false;
	if (what & SAME_CALL && (!text__same(a->syscall_name, b->syscall_name) ||
				 !is_same_frame(analysis->calls[i], analysis->calls[k])))
		return false;
	return !(what & SAME_OBJECT) || is_same_object(a, b);
}

uint64_t analysis__same_ns(const struct analysis *analysis, size_t part,
			   const struct sample *sample, unsigned what)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++)
		if (analysis->part[i] == (int)part &&
		    analysis__is_same(analysis, sample, &analysis->block->samples[i], what))
			ret += analysis__weight(analysis, i, part);
	return ret;
}

uint64_t analysis__seen_ns(const struct analysis *analysis, size_t part)
{
	uint64_t ret = 0;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++)
		ret += analysis__weight(analysis, i, part);
	return ret;
}

/* The longest sample of the part that is shorter than `last`, or equal and later; NULL: none. */
static const struct sample *next_longest(const struct analysis *analysis, size_t part,
					 const struct sample *last)
{
	const struct sample *samples = analysis->block->samples, *ret = NULL;
	uint64_t most = 0, limit = UINT64_MAX;

	if (last)
		limit = analysis__weight(analysis, last - samples, part);
	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		uint64_t weight = analysis__weight(analysis, i, part);

		if (weight > most && analysis->part[i] == (int)part &&
		    (weight < limit || (weight == limit && last && &samples[i] > last))) {
			most = weight;
			ret = &samples[i];
		}
	}
	return ret;
}

const struct sample *analysis__main_wait(const struct analysis *analysis, size_t part)
{
	const struct sample *ret = NULL, *each = NULL;
	uint64_t most = 0;

	for (int i = 0; i < CANDIDATE_MAX; i++) {
		uint64_t ns;

		each = next_longest(analysis, part, each);
		if (!each)
			break;
		ns = analysis__same_ns(analysis, part, each, SAME_OBJECT | SAME_CALL);
		if (ns <= most)
			continue;
		most = ns;
		ret = each;
	}
	return ret;
}
