/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/reported.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/proto.h"

#define LOOP_KINDS 64	/* above all JANK_LOOP_* */
#define LOOPS_MAX  4096 /* blocks of further loops are counted together, as in the summary */

void reported__init(struct reported *reported)
{
	*reported = (struct reported){};
	groups__init(&reported->loops, sizeof(struct reported_loop), LOOPS_MAX, NULL);
}

void reported__free(struct reported *reported)
{
	groups__free(&reported->loops);
	free(reported->time.cgroup);
}

static struct reported_loop *find(const struct reported *reported, uint32_t pid, uint32_t loop)
{
	const struct reported_key key = { pid, loop };

	return groups__find(&reported->loops, &key, sizeof(key));
}

static int add_cgroup(struct reported_time *time, const char *cgroup)
{
	if (!cgroup || (time->cgroup && !strcmp(time->cgroup, cgroup)))
		return 0;
	if (time->cgroup) {
		time->has_several = true;
		return 0;
	}
	time->cgroup = strdup(cgroup);
	return time->cgroup ? 0 : -ENOMEM;
}

/* A thread that waits for another one wants the CPU that the last one of the chain wants. */
static int add_time(struct reported_time *time, const struct block *block)
{
	const struct link *last = block->chain_cnt ? &block->chain[block->chain_cnt - 1] : NULL;
	uint64_t wait_ns = block__runnable(block) - block->start_frozen_ns; /* it is part of it */
	uint64_t throttled_ns =
		block->facts.throttled_ns < wait_ns ? block->facts.throttled_ns : wait_ns;

	if (last && last->state == JANK_STATE_RUNNABLE) {
		wait_ns += last->part_ns[JANK_STATE_RUNNABLE];
		throttled_ns += last->throttled_ns;
	}
	time->ns += block__delay(block);
	time->cpu_wait_ns += wait_ns;
	time->throttled_ns += throttled_ns;
	if (block->live->cpu->has_total_pct) {
		time->used_ns += (double)wait_ns * block->live->cpu->total_pct / 100;
		time->use_known_ns += (double)wait_ns;
	}
	return add_cgroup(time, block->live->scheduling->quota_cgroup);
}

int reported__add(struct reported *reported, const struct block *block)
{
	const struct reported_key key = { block->pid, block->loop };
	struct reported_loop *loop;
	int res;

	reported->incomplete_cnt += block->lost_cnt > 0;
	if (block->type == BLOCK_HANG) {
		reported->hang_cnt++;
		return 0;
	}
	reported->block_cnt++;
	res = add_time(&reported->time, block);
	loop = groups__get(&reported->loops, &key, sizeof(key));
	if (loop)
		loop->key = key;
	else if (!groups__is_full(&reported->loops))
		res = -ENOMEM;
	(loop ?: &reported->others)->cnt++;
	return res;
}

void reported__end(struct reported *reported, uint32_t pid)
{
	for (uint32_t kind = 0; kind < LOOP_KINDS; kind++) {
		struct reported_loop *loop = find(reported, pid, kind);

		if (loop)
			loop->ended = true;
	}
}

static struct stalled stalled_of(const struct reported_time *time)
{
	return (struct stalled){
		.ns = time->ns,
		.cpu_wait_ns = time->cpu_wait_ns,
		.throttled_ns = time->throttled_ns,
		.busy_pct = time->use_known_ns > 0 ? 100 * time->used_ns / time->use_known_ns : -1,
		.cgroup = time->has_several ? NULL : time->cgroup,
	};
}

/* Blocks of loops without an entry of their own count for the first entry of pid 0. */
void reported__set_summary(const struct reported *reported, struct summary *summary)
{
	struct loop_hist *others = NULL;
	uint64_t cnt = 0;

	for (size_t i = 0; i < summary->loop_cnt; i++) {
		struct loop_hist *loop = &summary->loops[i];
		const struct reported_loop *found = find(reported, loop->pid, loop->loop);

		loop->block_cnt = found ? found->cnt : 0;
		cnt += loop->block_cnt;
		if (!loop->pid && !others)
			others = loop;
	}
	if (others)
		others->block_cnt += reported->block_cnt - cnt;
	summary->block_cnt = reported->block_cnt;
	summary->hang_cnt = reported->hang_cnt;
	summary->incomplete_cnt = reported->incomplete_cnt;
	summary->stalled = stalled_of(&reported->time);
}

/* --- intervals */

/* A loop with a block, but without a new dispatch: the block was reported later. */
static struct loop_hist *append(struct interval *interval, const struct reported_key *key)
{
	struct loop_hist *loops =
		reallocarray(interval->loops, interval->loop_cnt + 1, sizeof(*loops));

	if (!loops)
		return NULL;
	interval->loops = loops;
	loops += interval->loop_cnt++;
	*loops = (struct loop_hist){ .pid = key->pid, .loop = key->loop };
	return loops;
}

static struct loop_hist *find_in(struct interval *interval, const struct reported_key *key)
{
	for (size_t i = 0; i < interval->loop_cnt; i++)
		if (interval->loops[i].pid == key->pid && interval->loops[i].loop == key->loop)
			return &interval->loops[i];
	return append(interval, key);
}

static int tell(struct reported_loop *loop, struct interval *interval)
{
	struct loop_hist *to;

	if (loop->cnt == loop->told_cnt)
		return 0;
	to = find_in(interval, &loop->key);
	if (!to)
		return -ENOMEM;
	to->block_cnt += loop->cnt - loop->told_cnt;
	loop->told_cnt = loop->cnt;
	return 0;
}

static void move_to_others(struct reported *reported, struct reported_loop *loop)
{
	reported->others.cnt += loop->cnt;
	reported->others.told_cnt += loop->told_cnt;
	groups__drop(&reported->loops, loop);
}

int reported__set_interval(struct reported *reported, struct interval *interval)
{
	struct reported_loop *loop, *next;
	int res = tell(&reported->others, interval);

	SET(&interval->facts, hangs, reported->hang_cnt - reported->told_hang_cnt);
	reported->told_hang_cnt = reported->hang_cnt;
	GROUPS_EACH_SAFE(&reported->loops, loop, next)
	{
		res = res ?: tell(loop, interval);
		if (!res && loop->ended)
			move_to_others(reported, loop);
	}
	return res;
}
