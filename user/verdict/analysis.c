/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Determines the reason of each sample once, for all users. */
#include "verdict/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/chain/chain.h"
#include "model/chain/wait_reason.h"
#include "model/stack.h"
#include "verdict/blame.h"

/*
 * If the chain contains a garbage collector's thread, the wait is for the collector, whatever lock
 * is between them.
 */
static const char *reason_of_chain(const struct block *block)
{
	const char *ret = NULL;

	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct link *link = &block->chain[i];
		const struct stack *const stacks[] = { &link->stack, &link->wake_stack };

		for (size_t j = 0; j < 2; j++) {
			struct activity activity = { .state = JANK_STATE_RUNNING,
						     .stack = stacks[j] };
			const char *reason = wait_reason__of(&activity);

			if (reason && !strcmp(reason, "gc"))
				return reason;
		}
		if (!ret || strcmp(ret, "gc"))
			ret = wait_reason__of_thread(link->task.comm)
				      ? wait_reason__of_thread(link->task.comm)
				      : ret;
	}
	return ret;
}

/* A slice of a longer wait for a lock says by its timeout only that the wait went on. */
static const char *reason_of(const struct block *block, size_t i, const struct activity *activity)
{
	const char *reason = wait_reason__of(activity);

	if (reason && !strcmp(reason, "timeout") && activity->state == JANK_STATE_FUTEX &&
	    retry_waits__goes_on(block->samples, block->sample_cnt, i))
		return wait_reason__of_futex(activity);
	return reason;
}

int analysis__read(struct analysis *analysis, struct block *block)
{
	size_t cnt = block->sample_cnt;

	*analysis = (struct analysis){ .block = block,
				       .reasons = calloc(cnt + 1, sizeof(*analysis->reasons)),
				       .calls = calloc(cnt + 1, sizeof(*analysis->calls)),
				       .part = calloc(cnt + 1, sizeof(*analysis->part)) };
	if (!analysis->reasons || !analysis->calls || !analysis->part) {
		analysis__free(analysis);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++) {
		struct activity activity = activity__of_sample(&block->samples[i]);

		analysis->reasons[i] = reason_of(block, i, &activity);
		if (activity.state >= JANK_STATE_FIRST_BLOCKED)
			analysis->calls[i] = wait_reason__frame(&activity);
		analysis->part[i] = -1;
	}
	if (block->chain_cnt && block->chain_sample < cnt) {
		struct activity activity = activity__of_chain(block);
		const char *reason = block->deadlock ? "deadlock" : reason_of_chain(block);

		analysis->reasons[block->chain_sample] =
			reason ? reason : wait_reason__of(&activity);
	}
	return 0;
}

void analysis__free(struct analysis *analysis)
{
	free(analysis->reasons);
	free(analysis->calls);
	free(analysis->part);
	analysis->reasons = NULL;
	analysis->calls = NULL;
	analysis->part = NULL;
}

static bool is_in(const struct sample *sample, const struct frame *frame)
{
	const struct frame *app = stack__frame_in(&sample->stack, sample->state);

	return app && stack__same_code(app, frame);
}

const struct sample *analysis__main_sample(const struct analysis *analysis, size_t part)
{
	const struct frame *frame = analysis->block->cause.parts[part].frame;
	const struct sample *ret = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		const struct sample *sample = &analysis->block->samples[i];
		uint64_t weight = analysis__weight(analysis, i, part);

		if (weight <= most || (frame && !is_in(sample, frame)))
			continue;
		most = weight;
		ret = sample;
	}
	return ret;
}

bool analysis__has_chain(const struct analysis *analysis, size_t part)
{
	const struct block *block = analysis->block;
	const struct sample *main;

	if (!block->chain_cnt || block->chain_sample >= block->sample_cnt ||
	    analysis->part[block->chain_sample] != (int)part)
		return false;
	main = analysis__main_wait(analysis, part);
	return main &&
	       analysis__is_same(analysis, main, &block->samples[block->chain_sample], SAME_OBJECT);
}

const struct link *analysis__chain_end(const struct analysis *analysis, size_t part)
{
	size_t i = analysis->block->chain_cnt;

	if (!analysis__has_chain(analysis, part))
		return NULL;
	while (i-- > 0)
		if (analysis->block->chain[i].state < JANK_STATE_CNT)
			return &analysis->block->chain[i];
	return &analysis->block->chain[analysis->block->chain_cnt - 1];
}

/*
 * --- Parts. The time of each state is exact. The reasons of its samples divide it in proportion,
 * because spans too short to be sent and the time between ticks are not seen.
 */

#define GROUP_MAX                                                                                  \
	96 /* about a dozen kept groups plus those of one state: at most one for each reason */
#define NOTABLE 0.1 /* of the wall time */

/* Time of one state and one reason. */
struct group {
	uint32_t state;
	const char *reason;
	double ns;
	size_t ticks, kernel_ticks;
};

struct groups {
	struct group list[GROUP_MAX];
	size_t cnt;
};

static uint64_t state_ns(const struct block *block, uint32_t state)
{
	return state == JANK_STATE_RUNNABLE ? block__runnable(block) : block->state_ns[state];
}

static uint32_t largest_state(const struct block *block)
{
	uint32_t largest = 0;

	for (uint32_t i = 1; i < JANK_STATE_CNT; i++)
		if (state_ns(block, i) > state_ns(block, largest))
			largest = i;
	return largest;
}

/* The group, created if needed; if the list is full, its last group. */
static struct group *group_of(struct groups *groups, size_t first, uint32_t state,
			      const char *reason)
{
	for (size_t i = first; i < groups->cnt; i++)
		if (text__same(groups->list[i].reason, reason))
			return &groups->list[i];
	if (groups->cnt == GROUP_MAX)
		return &groups->list[GROUP_MAX - 1];
	groups->list[groups->cnt] = (struct group){ .state = state, .reason = reason };
	return &groups->list[groups->cnt++];
}

/* Sums the weights of one state's samples by reason. Returns their sum. */
static double weigh(const struct analysis *analysis, struct groups *groups, uint32_t state)
{
	size_t first = groups->cnt;
	double sum = 0;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		const struct sample *sample = &analysis->block->samples[i];
		double weight = sample->ns ? sample->ns - sample->runnable_ns : 1;
		struct group *group;

		if (sample->state != state)
			continue;
		group = group_of(groups, first, state, analysis->reasons[i]);
		group->ns += weight;
		group->ticks += !sample->ns;
		group->kernel_ticks += !sample->ns && sample->stack.kernel_cnt > 0;
		sum += weight;
	}
	return sum;
}

static void add_runnable(const struct analysis *analysis, struct groups *groups)
{
	struct runnable_share shares[RUNNABLE_SHARE_MAX];
	size_t first = groups->cnt, cnt = runnable__divide(analysis->block, shares);

	for (size_t i = 0; i < cnt; i++)
		group_of(groups, first, JANK_STATE_RUNNABLE, shares[i].reason)->ns = shares[i].ns;
}

static void add_state(const struct analysis *analysis, struct groups *groups, uint32_t state)
{
	double ns = state_ns(analysis->block, state), sum;
	size_t first = groups->cnt;

	if (state == JANK_STATE_RUNNABLE) {
		add_runnable(analysis, groups);
		return;
	}
	sum = weigh(analysis, groups, state);
	if (sum <= 0)
		group_of(groups, first, state, NULL)->ns = ns;
	for (size_t i = first; sum > 0 && i < groups->cnt; i++)
		groups->list[i].ns *= ns / sum;
}

/*
 * Merges small groups into the largest group of their state. The groups of the state are the last
 * ones of the list.
 */
static void absorb(struct groups *groups, size_t first, double notable_ns)
{
	size_t largest = first, kept = first;

	for (size_t i = first; i < groups->cnt; i++)
		if (groups->list[i].ns > groups->list[largest].ns)
			largest = i;
	for (size_t i = first; i < groups->cnt; i++) {
		if (i == largest || groups->list[i].ns >= notable_ns)
			continue;
		groups->list[largest].ns += groups->list[i].ns;
		groups->list[largest].ticks += groups->list[i].ticks;
		groups->list[largest].kernel_ticks += groups->list[i].kernel_ticks;
		groups->list[i].ns = -1;
	}
	for (size_t i = first; i < groups->cnt; i++)
		if (groups->list[i].ns >= 0)
			groups->list[kept++] = groups->list[i];
	groups->cnt = kept;
}

/* Largest first; of equals the smaller state. */
static int by_time(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->state > y->state) - (x->state < y->state);
}

/* What the probes cannot tell while the thread sleeps: the state, and the reason in it. */
static const char *kind_of_wait(uint32_t state, const char *reason)
{
	enum { DISK = 1 << JANK_STATE_DISK, OTHER = 1 << JANK_STATE_OTHER };
	static const struct {
		const char *reason;
		unsigned states;
		const char *kind;
	} rows[] = {
		{ "child", OTHER | 1 << JANK_STATE_POLL, "child" },
		{ "fuse", DISK | OTHER, "filesystem" },
		{ "network_fs", DISK | OTHER, "filesystem" },
		{ "metadata", OTHER, "filesystem" },
		{ "file_lock", OTHER, "filesystem" },
		{ "fifo", OTHER, "pipe" },
		{ "send", OTHER, "terminal" }, /* other writes and reads have states of their own */
		{ "receive", OTHER, "terminal" },
	};

	for (size_t i = 0; reason && i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].states & 1u << state && !strcmp(rows[i].reason, reason))
			return rows[i].kind;
	return state__name(state);
}

/* "kernel" if most ticks of the group were in the kernel. */
static const char *kind_of(const struct group *group)
{
	if (group->state != JANK_STATE_RUNNING)
		return kind_of_wait(group->state, group->reason);
	return group->kernel_ticks * 2 > group->ticks ? "kernel" : "cpu";
}

static void assign_samples(struct analysis *analysis)
{
	const struct cause *cause = &analysis->block->cause;

	for (size_t i = 0; i < analysis->block->sample_cnt; i++) {
		for (size_t p = cause->part_cnt; p--;) {
			if (cause->parts[p].state != analysis->block->samples[i].state)
				continue;
			analysis->part[i] =
				(int)p; /* the largest, unless one has the same reason */
			if (text__same(cause->parts[p].what, analysis->reasons[i]))
				break;
		}
	}
}

/* Rounding can make the floating-point sum slightly larger than the whole. */
static double share_of(double ns, double all)
{
	if (!all)
		return 0;
	return ns < all ? ns / all : 1;
}

void breakdown__divide(struct analysis *analysis)
{
	const struct block *block = analysis->block;
	struct cause *cause = &analysis->block->cause;
	double all = block__delay(block), notable_ns = all * NOTABLE;
	uint32_t largest = largest_state(block);
	struct groups groups = { .cnt = 0 };

	for (uint32_t state = 0; state < JANK_STATE_CNT; state++) {
		size_t first = groups.cnt;

		if (state != largest && (state_ns(block, state) < notable_ns || !all))
			continue;
		add_state(analysis, &groups, state);
		absorb(&groups, first, notable_ns);
	}
	qsort(groups.list, groups.cnt, sizeof(groups.list[0]), by_time);
	cause->part_cnt = 0;
	for (size_t i = 0; i < groups.cnt && i < CAUSE_PART_MAX; i++)
		cause->parts[cause->part_cnt++] = (struct cause_part){
			.kind = kind_of(&groups.list[i]),
			.state = groups.list[i].state,
			.what = groups.list[i].reason,
			.share = share_of(groups.list[i].ns, all),
		};
	assign_samples(analysis);
}
