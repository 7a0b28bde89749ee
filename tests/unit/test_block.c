/* SPDX-License-Identifier: GPL-2.0 */
/* The block's life and its words. */
#include "model/block.h"
#include "tests/export_fixture.h"
#include "tests/tap.h"

static void test_names(void)
{
	is_str(state__name(JANK_STATE_RUNNING), "running", "state");
	is_str(state__name(JANK_STATE_PAGE_FAULT), "page_fault", "a state of two words");
	is_str(state__name(JANK_STATE_OTHER), "other", "the last state");
	is_str(state__name(JANK_STATE_CNT), "other", "a state that isn't");
	is_str(state__name(UINT32_MAX), "other", "one far off");
	is_str(loop__name(JANK_LOOP_EPOLL), "epoll", "loop");
	is_str(loop__name(JANK_LOOP_ANDROID_LOOPER), "android-looper", "the other loop");
	is_str(loop__name(0), "unknown", "no loop");
	is_str(loop__name(UINT32_MAX), "unknown", "a loop that isn't");
}

static void test_severity(void)
{
	struct block b = { .type = BLOCK_JANK };

	is_str(block__severity(&b), "jank", "a block");
	b.hang_reported = true;
	is_str(block__severity(&b), "hang", "a hang's end");
	b = (struct block){ .type = BLOCK_HANG };
	is_str(block__severity(&b), "hang", "a hang");
}

/* What leaks or is freed twice ends the program: it is built with ASan. */
static void test_life(void)
{
	struct block *b = block__new(), zero = { 0 };
	struct summary summary = fixture__summary();

	ok(b && !memcmp(b, &zero, sizeof(zero)), "a new block is all zero");
	block__free(b);
	block__free(NULL);
	for (size_t i = 0; i < FIXTURE_CNT; i++)
		block__free(fixtures[i].make());
	fixture__add_losses(&summary);
	summary__free(&summary);
	ok(!summary.loops && !summary.loop_cnt && !summary.lost && !summary.lost_cnt,
	   "a freed summary is empty");
	summary__free(&summary);
	summary__free(NULL);
}

int main(void)
{
	test_names();
	test_severity();
	test_life();
	return tap__done();
}
