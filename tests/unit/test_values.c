/* SPDX-License-Identifier: GPL-2.0 */
/* What sinks compute from the fields of a record: the same as the block has. */
#include "export/values.h"

#include <string.h>

#include "model/block.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/export_record.h"

static void test_states(void)
{
	for (uint32_t i = 0; i < JANK_STATE_CNT; i++) {
		is_str(value__state_word(i), state__name(i), "word of state %u", i);
		is_uint(value__state(state__name(i)), i, "state of the word");
	}
	is_uint(value__state(NULL), JANK_STATE_OTHER, "no word");
	is_uint(value__state("gpu"), JANK_STATE_OTHER, "a word of a later version");
	is_str(value__state_word(JANK_STATE_CNT), "other", "no state");
}

static void test_times(void)
{
	struct block *block = fixture__states();
	const Jankbpf__Block *got;

	block->start_known = true;
	block->start_delay_ns = 7;
	got = fixture__record(block)->block;
	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		is_uint(value__in_state(got->time, i), block->state_ns[i], "time in state %u", i);
	is_uint(value__in_state(got->time, JANK_STATE_CNT), 0, "no state, no time");
	is_uint(value__in_state(NULL, 0), 0, "no times");
	is_uint(value__delay(got), block__delay(block), "delay");
	is_uint(value__due(got), block__due(block), "begin of the delay");
	is_uint(value__real_ns(got, 5), 5 + (uint64_t)FIXTURE_OFFSET, "wall time");
	block__free(block);
}

static void test_no_start(void)
{
	Jankbpf__Block block = JANKBPF__BLOCK__INIT;

	is_uint(value__real_ns(&block, 5), 5, "no start, no wall time");
	block.start = "yesterday";
	is_uint(value__real_ns(&block, 5), 5, "nor from one that is no time");
}

static void test_words(void)
{
	Jankbpf__Block block = JANKBPF__BLOCK__INIT;

	ok(!value__is_hang(&block), "an absent word");
	block.severity = "jank";
	ok(!value__is_hang(&block), "another word");
	block.severity = "hang";
	ok(value__is_hang(&block), "the word");
}

static void test_losses(void)
{
	Jankbpf__Lost lost = JANKBPF__LOST__INIT;
	struct loss_count loss;
	unsigned pos = 0;

	ok(!value__next_loss(NULL, &pos, &loss), "no losses");
	ok(!value__next_loss(&lost, &pos, &loss), "none of them is set");
	lost.has_reads_unanswered = lost.has_samples_shed = true;
	lost.samples_shed = 3;
	lost.reads_unanswered = 4;
	pos = 0;
	ok(value__next_loss(&lost, &pos, &loss) && loss.cnt == 3, "the first");
	is_str(loss.reason, "samples_shed", "its reason");
	ok(value__next_loss(&lost, &pos, &loss) && loss.cnt == 4, "the last one");
	is_str(loss.reason, "reads_unanswered", "its reason");
	ok(!value__next_loss(&lost, &pos, &loss), "no other");
}

int main(void)
{
	test_states();
	test_times();
	test_no_start();
	test_words();
	test_losses();
	return tap__done();
}
