/* SPDX-License-Identifier: GPL-2.0 */
/* The life of a block, and its words. */
#include "model/block.h"
#include "tests/tap.h"
#include "tests/unit/export_fixture.h"

static void test_names(void)
{
	is_str(state__name(JANK_STATE_RUNNING), "running", "state");
	is_str(state__name(JANK_STATE_PAGE_FAULT), "page_fault", "a state of two words");
	is_str(state__name(JANK_STATE_OTHER), "other", "the last state");
	is_str(state__name(JANK_STATE_CNT), "other", "an invalid state");
	is_str(state__name(UINT32_MAX), "other", "a far larger one");
	is_str(loop__name(JANK_LOOP_EPOLL), "epoll", "loop");
	is_str(loop__name(JANK_LOOP_ANDROID_LOOPER), "android-looper", "the other loop");
	is_str(loop__name(0), "unknown", "no loop");
	is_str(loop__name(UINT32_MAX), "unknown", "an invalid loop");
}

static void test_severity(void)
{
	struct block b = { .type = BLOCK_JANK };

	is_str(block__severity(&b), "jank", "a block");
	b.hang_reported = true;
	is_str(block__severity(&b), "hang", "the end of a hang");
	b = (struct block){ .type = BLOCK_HANG };
	is_str(block__severity(&b), "hang", "a hang");
}

/* Leaks and double frees end the program: it is built with ASan. */
static void test_life(void)
{
	const Jankbpf__Identity unknown = JANKBPF__IDENTITY__INIT;
	struct block *b = block__new(), zero = { 0 };
	struct summary summary = fixture__summary();

	zero.process = b->process;
	zero.live = b->live;
	ok(b->process && !memcmp(b, &zero, sizeof(zero)) &&
		   !memcmp(b->process, &unknown, sizeof(unknown)),
	   "a new block is all zero, its process is unknown");
	ok(b->live->cpu->psi && jankbpf__block__get_packed_size(b->live) == 3 + 2 + 3,
	   "so is the live system: a cpu with a psi, and a scheduling, are empty");
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

static uint64_t *addresses(struct stack *stack, uint32_t cnt)
{
	stack->user_cnt = cnt;
	stack->frame_cnt = cnt;
	stack->frames = calloc(cnt, sizeof(*stack->frames));
	return stack->addresses = calloc(cnt, sizeof(*stack->addresses));
}

/* A block whose chain has one link with every member set. */
static void test_chain(void)
{
	const struct jank_rec_waited raw = { .owner = 7 };
	struct block *b = block__new();
	size_t before = block__bytes(b);
	struct link *link;

	b->cause.summary = strdup("why");
	b->samples = calloc(1, sizeof(*b->samples));
	b->sample_cnt = 1;
	b->samples[0].waited = wait_object__new(&raw);
	b->samples[0].waker.cgroup = strdup("/a");
	addresses(&b->samples[0].stack, 1);
	b->chain = link = calloc(1, sizeof(*link));
	b->chain_cnt = 1;
	link->process = strdup("server");
	link->task.cgroup = strdup("/b");
	link->waited = wait_object__new(&raw);
	link->waited->path = strdup("/etc/passwd");
	addresses(&link->stack, 3);
	addresses(&link->wake_stack, 5);
	link->preemptors = calloc(2, sizeof(*link->preemptors));
	link->preemptor_cnt = 2;
	link->preemptors[1].cgroup = strdup("/c");
	is_uint(block__bytes(b) - before,
		sizeof(struct sample) + sizeof(struct link) + 2 * sizeof(struct wait_object) +
			strlen("/etc/passwd") + 1 + strlen("server") + 1 +
			9 * (sizeof(uint64_t) + sizeof(struct frame)) +
			2 * sizeof(struct other_task),
		"the size of a chain counts its links, their stacks, and what was waited for");
	block__free(b);
}

int main(void)
{
	test_names();
	test_severity();
	test_life();
	test_chain();
	return tap__done();
}
