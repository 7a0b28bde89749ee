/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of both sides: loops with their dispatches, faults with their blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/diff/diff.h"
#include "export/diff/sides.h"
#include "export/values.h"

#define LOOPS_MAX  10000
#define FAULTS_MAX 10000 /* of a loop */

/* --- memory */

static void free_side(struct diff_side *side)
{
	for (size_t i = 0; i < side->interval_cnt; i++)
		free(side->intervals[i].buckets);
	free(side->intervals);
}

static void clear_fault(void *at)
{
	struct diff_fault *fault = at;

	free(fault->signature);
	free(fault->summary);
	for (unsigned i = 0; i < DIFF_SIDES; i++) {
		free(fault->sides[i].ends);
		free(fault->sides[i].delays_ns);
	}
}

static void clear_loop(void *at)
{
	struct diff_loop *loop = at;

	groups__free(&loop->faults);
	for (unsigned i = 0; i < DIFF_SIDES; i++)
		free_side(&loop->sides[i]);
	free(loop->process);
	free(loop->loop);
}

void diff__init(struct diff *diff)
{
	*diff = (struct diff){};
	groups__init(&diff->loops, sizeof(struct diff_loop), LOOPS_MAX, clear_loop);
}

void diff__free(struct diff *diff)
{
	groups__free(&diff->loops);
}

/* --- entries */

int diff__get_loop(struct diff *diff, const char *key, const char *process, const char *kind,
		   struct diff_loop **ret)
{
	struct diff_loop *loop = groups__get_text(&diff->loops, key);
	bool no_room = !loop && groups__is_full(&diff->loops);

	*ret = loop;
	diff->no_room_cnt += no_room;
	if (!loop)
		return no_room ? 0 : -ENOMEM;
	if (loop->loop)
		return 0;
	loop->key = group__key(loop);
	groups__init(&loop->faults, sizeof(struct diff_fault), FAULTS_MAX, clear_fault);
	loop->process = strdup(process ?: "?");
	loop->loop = strdup(kind ?: "?");
	if (loop->process && loop->loop)
		return 0;
	groups__drop(&diff->loops, loop);
	*ret = NULL;
	return -ENOMEM;
}

/* Of records: the key is made of both names. */
static int get_loop(struct diff *diff, const char *process, const char *kind,
		    struct diff_loop **ret)
{
	struct strbuf key = STRBUF_INIT;
	int res = -ENOMEM;

	strbuf__addf(&key, "%s\t%s", kind ?: "?", process ?: "?");
	if (!key.failed)
		res = diff__get_loop(diff, strbuf__str(&key), process, kind, ret);
	strbuf__free(&key);
	return res;
}

int diff__get_fault(struct diff *diff, struct diff_loop *loop, const char *key,
		    struct diff_fault **ret)
{
	struct diff_fault *fault = groups__get_text(&loop->faults, key);
	bool no_room = !fault && groups__is_full(&loop->faults);

	*ret = fault;
	diff->no_room_cnt += no_room;
	if (!fault)
		return no_room ? 0 : -ENOMEM;
	fault->key = group__key(fault);
	if (!fault->signature)
		fault->signature = strdup(key);
	if (fault->signature)
		return 0;
	groups__drop(&loop->faults, fault);
	*ret = NULL;
	return -ENOMEM;
}

/* --- dispatches, and blocks without a record */

struct diff_interval *diff__new_interval(struct diff_side *side, size_t bucket_cnt)
{
	size_t cap = side->interval_cap ? 2 * side->interval_cap : 16;
	struct diff_interval *interval;

	if (side->interval_cnt == side->interval_cap) {
		interval = reallocarray(side->intervals, cap, sizeof(*interval));
		if (!interval)
			return NULL;
		side->intervals = interval;
		side->interval_cap = cap;
	}
	interval = &side->intervals[side->interval_cnt];
	*interval = (struct diff_interval){};
	interval->buckets = calloc(bucket_cnt + 1, sizeof(*interval->buckets));
	if (!interval->buckets)
		return NULL;
	side->interval_cnt++;
	return interval;
}

/*
 * The entry of an interval with room for so many buckets more. A record has a row for each process
 * of a name: they share an entry, since all blocks of the name in that time count in it.
 */
static struct diff_interval *get_interval(struct diff_side *side, uint64_t begin_ns,
					  uint64_t end_ns, size_t bucket_cnt)
{
	struct diff_interval *last =
		side->interval_cnt ? &side->intervals[side->interval_cnt - 1] : NULL;
	void *buckets;

	if (!last || last->begin_ns != begin_ns || last->end_ns != end_ns) {
		last = diff__new_interval(side, bucket_cnt);
		if (last) {
			last->begin_ns = begin_ns;
			last->end_ns = end_ns;
		}
		return last;
	}
	buckets = reallocarray(last->buckets, last->bucket_cnt + bucket_cnt + 1,
			       sizeof(*last->buckets));
	if (!buckets)
		return NULL;
	last->buckets = buckets;
	return last;
}

static int add_interval(struct diff_side *side, const Jankbpf__Loop *from, uint64_t begin_ns,
			uint64_t end_ns)
{
	struct diff_interval *interval = get_interval(side, begin_ns, end_ns, from->n_buckets);

	if (!interval)
		return -ENOMEM;
	interval->cnt += from->dispatches;
	for (size_t i = 0; i < from->n_buckets; i++) {
		const Jankbpf__Bucket *bucket = from->buckets[i];
		uint32_t nr = interval->bucket_cnt++;

		interval->buckets[nr].ns = value__upper_ns(bucket, from->max_ns);
		interval->buckets[nr].cnt = bucket->count;
	}
	return 0;
}

/* begin_ns 0: of a whole run. */
static int add_loop(struct diff *diff, unsigned nr, const Jankbpf__Loop *from, uint64_t begin_ns,
		    uint64_t end_ns)
{
	struct diff_side *side;
	struct diff_loop *loop;
	int res = get_loop(diff, from->process, from->loop, &loop);

	if (res || !loop)
		return res;
	side = &loop->sides[nr];
	side->dispatch_cnt += from->dispatches;
	diff->inputs[nr].dispatch_cnt += from->dispatches;
	value__add_buckets(&side->durations, from->buckets, from->n_buckets, from->max_ns);
	return begin_ns ? add_interval(side, from, begin_ns, end_ns) : 0;
}

static bool is_inside(const struct diff_input *input, uint64_t real_ns)
{
	return real_ns >= input->from_ns && (!input->to_ns || real_ns < input->to_ns);
}

static void add_losses(struct diff_input *input, const Jankbpf__Lost *lost)
{
	struct loss_count loss;

	for (unsigned i = 0; value__next_loss(lost, &i, &loss);)
		input->loss_cnt += loss.cnt;
}

void diff__add_signature_version(struct diff *diff, unsigned side, uint64_t version)
{
	version = value__signature_version(version);
	diff->inputs[side].signature_versions |= 1ull << (version < 63 ? version : 63);
}

bool diff__has_one_signature_version(const struct diff *diff)
{
	uint64_t all =
		diff->inputs[DIFF_A].signature_versions | diff->inputs[DIFF_B].signature_versions;

	return !(all & (all - 1));
}

/* Blocks that limits of an agent counted without a record, somewhere in the interval. */
static int add_left_out(struct diff *diff, unsigned nr, const Jankbpf__LeftOut *left,
			uint64_t at_ns)
{
	struct diff_fault *fault;
	struct diff_loop *loop;
	int res = get_loop(diff, left->process, left->loop, &loop);

	diff->inputs[nr].block_cnt += left->blocks;
	if (left->signature)
		diff__add_signature_version(diff, nr, left->signature_version);
	for (int i = 0; i < 2 && !res && loop; i++) { /* its fault, and all */
		if (!i && !left->signature)
			continue;
		res = diff__get_fault(diff, loop, i ? "" : left->signature, &fault);
		if (!res && fault)
			res = diff__add_end(fault, nr, at_ns, left->blocks);
	}
	return res;
}

static int add_interval_record(struct diff *diff, unsigned nr, const Jankbpf__Interval *interval)
{
	struct diff_input *input = &diff->inputs[nr];
	uint64_t begin_ns;
	int res = 0;

	input->run_interval_cnt++;
	if (!interval->start || !clock__read_rfc3339(interval->start, &begin_ns) ||
	    !is_inside(input, begin_ns))
		return 0;
	input->interval_cnt++;
	input->elapsed_ns += interval->elapsed_ns;
	add_losses(input, interval->lost);
	for (size_t i = 0; i < interval->n_loops && !res; i++)
		res = add_loop(diff, nr, interval->loops[i], begin_ns,
			       begin_ns + interval->elapsed_ns);
	for (size_t i = 0; i < interval->n_left_out && !res; i++)
		res = add_left_out(diff, nr, interval->left_out[i],
				   begin_ns + interval->elapsed_ns / 2);
	return res;
}

/* The end of a run. It has no time of its own: only intervals can be chosen by time. */
static int add_summary(struct diff *diff, unsigned nr, const Jankbpf__Summary *summary)
{
	struct diff_input *input = &diff->inputs[nr];
	bool has_intervals = input->run_interval_cnt;
	int res = 0;

	input->run_interval_cnt = 0;
	if (has_intervals || input->from_ns || input->to_ns)
		return 0;
	input->elapsed_ns += summary->elapsed_ns;
	add_losses(input, summary->lost);
	for (size_t i = 0; i < summary->n_loops && !res; i++)
		res = add_loop(diff, nr, summary->loops[i], 0, 0);
	return res;
}

/* --- blocks */

/* Room for one more of cnt entries of this size. */
static int longer(void *list, size_t cnt, size_t size)
{
	void *ret;

	if (cnt & (cnt - 1)) /* the room is full at powers of two */
		return 0;
	ret = reallocarray(*(void **)list, cnt ? 2 * cnt : 1, size);
	if (!ret)
		return -ENOMEM;
	*(void **)list = ret;
	return 0;
}

int diff__add_end(struct diff_fault *fault, unsigned nr, uint64_t end_ns, uint64_t cnt)
{
	struct diff_end **list = &fault->sides[nr].ends;

	if (longer(list, fault->sides[nr].end_cnt, sizeof(**list)))
		return -ENOMEM;
	(*list)[fault->sides[nr].end_cnt++] = (struct diff_end){ end_ns, cnt };
	fault->sides[nr].cnt += cnt;
	return 0;
}

int diff__add_delay(struct diff_fault *fault, unsigned nr, uint64_t delay_ns)
{
	uint64_t **list = &fault->sides[nr].delays_ns;

	if (longer(list, fault->sides[nr].delay_cnt, sizeof(**list)))
		return -ENOMEM;
	(*list)[fault->sides[nr].delay_cnt++] = delay_ns;
	return 0;
}

static int count_block(struct diff_fault *fault, unsigned nr, const Jankbpf__Block *block,
		       uint64_t end_ns)
{
	const char *summary = block->cause ? block->cause->summary : NULL;
	char *copy;

	if (diff__add_end(fault, nr, end_ns, 1) || diff__add_delay(fault, nr, value__delay(block)))
		return -ENOMEM;
	if (!summary || !*fault->key)
		return 0;
	copy = strdup(summary);
	if (!copy)
		return -ENOMEM;
	free(fault->summary);
	fault->summary = copy;
	return 0;
}

static int add_block(struct diff *diff, unsigned nr, const Jankbpf__Block *block)
{
	const char *signature = block->cause ? block->cause->signature : NULL;
	struct diff_fault *fault;
	struct diff_loop *loop;
	uint64_t start_ns;
	int res;

	if (!block->start || !clock__read_rfc3339(block->start, &start_ns) ||
	    !is_inside(&diff->inputs[nr], start_ns))
		return 0;
	diff->inputs[nr].block_cnt++;
	if (signature)
		diff__add_signature_version(diff, nr, block->cause->signature_version);
	res = get_loop(diff, block->process, block->loop, &loop);
	for (int i = 0; i < 2 && !res && loop; i++) { /* its fault, and all */
		if (!i && !signature)
			continue;
		res = diff__get_fault(diff, loop, i ? "" : signature, &fault);
		if (!res && fault)
			res = count_block(fault, nr, block, start_ns + block->duration_ns);
	}
	return res;
}

/* A hang that ends is a block. */
int diff__add(struct diff *diff, unsigned side, const Jankbpf__Record *record)
{
	diff->inputs[side].record_cnt++;
	switch (record->type_case) {
	case JANKBPF__RECORD__TYPE_BLOCK:
		return add_block(diff, side, record->block);
	case JANKBPF__RECORD__TYPE_INTERVAL:
		return add_interval_record(diff, side, record->interval);
	case JANKBPF__RECORD__TYPE_SUMMARY:
		return add_summary(diff, side, record->summary);
	default:
		return 0;
	}
}
