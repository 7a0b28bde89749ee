/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks that are held until their loop is certain. */
#include "session/sink_thread.h"

#include <stdlib.h>

#include "base/clock.h"
#include "tests/tap.h"

#define LARGE (300 << 10) /* four of them exceed the bound */

static uint64_t reported[16], dropped[16];
static size_t reported_cnt, dropped_cnt;

static void on_report(void *ctx, struct block *block)
{
	(void)ctx;
	reported[reported_cnt++] = block->start_ns;
	block__free(block);
}

static void on_drop(void *ctx, struct block *block)
{
	(void)ctx;
	dropped[dropped_cnt++] = block->start_ns;
	block__free(block);
}

static struct probation *begin(void)
{
	reported_cnt = dropped_cnt = 0;
	return probation__new(on_report, on_drop, NULL);
}

static void hold(struct probation *probation, uint32_t tid, uint32_t trial, uint64_t start_ns)
{
	struct block *block = block__new();

	block->pid = 1;
	block->tid = tid;
	block->trial = trial;
	block->start_ns = start_ns;
	probation__hold(probation, block, start_ns);
}

static void test_confirm(void)
{
	struct probation *probation = begin();

	hold(probation, 7, 1, 10);
	hold(probation, 7, 2, 20);
	hold(probation, 8, 2, 30);
	hold(probation, 7, 2, 40);
	ok(!reported_cnt && !dropped_cnt, "nothing is certain yet");
	probation__confirm(probation, 7, 2, 50);
	ok(reported_cnt == 2 && reported[0] == 20 && reported[1] == 40,
	   "the held blocks of the confirmed loop, in order");
	ok(dropped_cnt == 1 && dropped[0] == 10, "those of another place are dropped");
	probation__confirm(probation, 7, 2, 60);
	ok(reported_cnt == 2, "each once");
	probation__on_exit(probation, 2);
	ok(dropped_cnt == 1, "another process ends");
	probation__on_exit(probation, 1);
	ok(dropped_cnt == 2 && dropped[1] == 30, "its own process ends");
	probation__free(probation);
}

static void test_limits(void)
{
	struct probation *probation = begin();

	hold(probation, 7, 1, 10);
	hold(probation, 7, 1, 60 * NS_PER_SEC);
	probation__confirm(probation, 7, 1, 60 * NS_PER_SEC + 20);
	ok(dropped_cnt == 1 && dropped[0] == 10 && reported_cnt == 1,
	   "after a minute a block is dropped");
	for (int i = 0; i < 4; i++) {
		struct block *block = block__new();

		block->tid = 9;
		block->trial = 1;
		block->start_ns = 100 + i;
		block->preemptor_cnt = LARGE / sizeof(*block->preemptors);
		block->preemptors = calloc(block->preemptor_cnt, sizeof(*block->preemptors));
		probation__hold(probation, block, 61 * NS_PER_SEC);
	}
	ok(dropped_cnt == 2 && dropped[1] == 100, "beyond 1 MiB the oldest is dropped");
	probation__end(probation);
	ok(dropped_cnt == 5 && reported_cnt == 1, "at the end all others are dropped");
	hold(probation, 7, 1, 70 * NS_PER_SEC);
	probation__free(probation);
	ok(dropped_cnt == 6, "none leaks");
}

int main(void)
{
	test_confirm();
	test_limits();
	return tap__done();
}
