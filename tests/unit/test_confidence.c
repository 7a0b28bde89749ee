/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The confidence of a verdict: 1 only if everything was seen, and less for each thing that was not.
 */
#include "verdict/blame.h"

#include "tests/tap.h"
#include "tests/unit/verdict_fixture.h"

/* Blames and frees the block; returns thousandths. */
static unsigned confidence(struct block *block)
{
	unsigned ret;

	blame__block(block);
	ret = (unsigned)(block->cause.confidence * 1000 + 0.5);
	block__free(block);
	return ret;
}

/* 100 ms of disk, of which spans of `seen` ms were sent. */
static struct block *of_disk(uint64_t seen)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_DISK, seen * MS, "fsync", STACK("c:fsync", "save"));

	block->state_ns[JANK_STATE_DISK] = 100 * MS;
	return block;
}

static struct block *of_mutex(void)
{
	return verdict__off_cpu(JANK_STATE_FUTEX, 100 * MS, "futex",
				STACK("c:pthread_mutex_lock", "f"));
}

static void test_coverage(void)
{
	struct block *block = of_disk(100);

	is_uint(confidence(block), 1000, "all of the wait was seen");
	is_uint(confidence(of_disk(40)), 400, "a part of it was seen");
	block = verdict__block();
	block->state_ns[JANK_STATE_DISK] = 100 * MS;
	is_uint(confidence(block), 0, "nothing");
	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 9, STACK("f"));
	is_uint(confidence(block), 900, "ticks: never 1, at most 0.9");
	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNING] = 200 * MS;
	verdict__ticks(block, 1, STACK("f"));
	is_uint(confidence(block), 500, "one tick: 0.5");
}

static void test_names(void)
{
	struct block *block =
		verdict__off_cpu(JANK_STATE_DISK, 100 * MS, "fsync", STACK("c:fsync"));

	is_uint(confidence(block), 700, "no frame of the application");
}

static void test_losses(void)
{
	struct block *block = of_disk(100);

	block->lost = calloc(2, sizeof(*block->lost));
	block->lost[block->lost_cnt++] = (struct block_loss){ "samples_shed", 3 };
	is_uint(confidence(block), 900, "samples were lost");
}

static void test_culprit(void)
{
	struct block *block = of_mutex();
	struct link *link;

	is_uint(confidence(block), 500, "an unknown waker");
	block = of_mutex();
	verdict__woken_by(block, verdict__task(10, 12, "x"));
	is_uint(confidence(block), 700, "a known waker");
	block = of_mutex();
	verdict__woken_by(block, verdict__task(10, 12, "x"));
	block->samples[0].waker_softirq = true;
	is_uint(confidence(block), 500, "a bystander in an interrupt is no waker");
	block = of_mutex();
	verdict__waited(block, JANK_WAITED_TIMEOUT)->raw.timeout_ns = 100 * MS;
	is_uint(confidence(block), 1000, "a wait that times out needs none");
	block = of_mutex();
	verdict__link(block, LINK_HELD, verdict__task(10, 12, "x"), JANK_STATE_DISK, "fsync",
		      STACK("g"));
	is_uint(confidence(block), 1000, "the holder, and what it did");
	block = of_mutex();
	link = verdict__link(block, LINK_HELD, verdict__task(10, 12, "x"), JANK_STATE_DISK, "fsync",
			     STACK("g"));
	link->part_ns[JANK_STATE_DISK] = link->ns / 2;
	is_uint(confidence(block), 750, "the holder for half of the time");
	block = of_mutex();
	verdict__link(block, LINK_HELD, verdict__task(10, 12, "x"), JANK_STATE_CNT, NULL,
		      STACK(NULL));
	is_uint(confidence(block), 500, "the chain ends in nothing seen");
}

static void test_runnable(void)
{
	struct block *block = verdict__off_cpu(JANK_STATE_RUNNABLE, 100 * MS, NULL, STACK("f"));

	is_uint(confidence(block), 500, "an unknown preemptor");
	block = verdict__off_cpu(JANK_STATE_RUNNABLE, 100 * MS, NULL, STACK("f"));
	verdict__preemptor(block, 7, "x", 100 * MS, 122);
	is_uint(confidence(block), 1000, "a known preemptor");
	block = verdict__block();
	block->state_ns[JANK_STATE_RUNNABLE] = 100 * MS;
	block->facts = (struct facts){ .known = true, .throttled_ns = 100 * MS };
	is_uint(confidence(block), 1000, "the kernel counts throttling, with or without spans");
}

int main(void)
{
	test_coverage();
	test_names();
	test_losses();
	test_culprit();
	test_runnable();
	return tap__done();
}
