/* SPDX-License-Identifier: GPL-2.0 */
/* Blocks that are not shown: their counts by reason, what -v says, and the summary's line. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/block.h"
#include "tests/tap.h"
#include "tests/unit/export_record.h"

static unsigned told[NOT_SHOWN_CNT];
static uint64_t told_ns;

static void tell(enum not_shown_reason reason, uint32_t pid, uint64_t delay_ns)
{
	told[reason] += pid == 12;
	told_ns = delay_ns;
}

static void test_counts(void)
{
	struct block block = { .type = BLOCK_JANK,
			       .pid = 12,
			       .start_delay_ns = 1 * NS_PER_MS,
			       .duration_ns = 30 * NS_PER_MS };
	struct not_shown not_shown = { .tell = tell }, all = {};

	for (unsigned i = 0; i < NOT_SHOWN_TOLD_MAX + 5; i++)
		not_shown__add_block(&not_shown, NOT_SHOWN_LOOP, &block);
	is_uint(not_shown.cnt[NOT_SHOWN_LOOP], NOT_SHOWN_TOLD_MAX + 5, "all count");
	is_uint(told[NOT_SHOWN_LOOP], NOT_SHOWN_TOLD_MAX, "the first ones are told");
	is_uint(told_ns, 31 * NS_PER_MS, "with their delay");
	block.type = BLOCK_HANG;
	not_shown__add_block(&not_shown, NOT_SHOWN_SIG, &block);
	is_uint(not_shown.cnt[NOT_SHOWN_SIG], 0, "a hang does not count: its block will");
	not_shown__add(&all, NOT_SHOWN_LOOP, 12, 1);
	not_shown__merge(&all, &not_shown);
	is_uint(all.cnt[NOT_SHOWN_LOOP], NOT_SHOWN_TOLD_MAX + 6, "counts of two threads add up");
}

/* A record of another version may have a reason that is new. */
static void test_words(void)
{
	bool all = true;

	for (int i = 0; i < NOT_SHOWN_CNT; i++)
		all &= strcmp(not_shown__phrase(not_shown__word(i)), not_shown__word(i)) != 0;
	ok(all, "each reason has a phrase");
	is_str(not_shown__phrase("later"), "later", "an unknown word is its own phrase");
}

static void test_summary(void)
{
	struct summary summary = { .dispatch_cnt = 100, .elapsed_ns = NS_PER_SEC };
	const Jankbpf__Record *record;

	record = record__of_summary(fixture__builder(), &summary);
	is_uint(record->summary->n_not_shown, 0, "without one, the record has no list");
	summary.not_shown.cnt[NOT_SHOWN_STOPPED] = 2;
	summary.not_shown.cnt[NOT_SHOWN_IGNORED] = 1234;
	record = record__of_summary(fixture__builder(), &summary);
	is_uint(record->summary->n_not_shown, 2, "a reason of each count that is not 0");
	is_str(record->summary->not_shown[1]->reason, "ignored", "by its word");
	is_uint(record->summary->not_shown[1]->blocks, 1234, "with its count");
	is_uint(record->summary->stopped_blocks, 2, "and the field of the stopped ones");
}

int main(void)
{
	test_counts();
	test_words();
	test_summary();
	return tap__done();
}
