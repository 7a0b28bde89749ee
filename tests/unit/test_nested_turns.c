/* SPDX-License-Identifier: GPL-2.0 */
/* Handlers that run their loop: which ones are blocks, and how the others are counted. */
#include "session/nested_turns.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/jank_abi.h"
#include "tests/tap.h"

#define MODULE "/usr/bin/editor"

/* A block with one stack of these functions, innermost first. The caller frees it. */
static struct block *block_in(const char *const *functions, size_t cnt)
{
	struct block *block = block__new();
	struct stack *stack;

	block->samples = calloc(1, sizeof(*block->samples));
	block->sample_cnt = 1;
	block->end = JANK_END_NESTED;
	block->pid = block->tid = 7;
	block->duration_ns = 1000;
	block->process->name = strdup("editor");
	stack = &block->samples[0].stack;
	stack->frames = calloc(cnt, sizeof(*stack->frames));
	stack->frame_cnt = cnt;
	for (size_t i = 0; i < cnt; i++)
		stack->frames[i] = (struct frame){ .address = i + 1,
						   .function = functions[i],
						   .module = MODULE };
	return block;
}

static bool is_block(struct nested_turns *nested, const char *const *functions, size_t cnt)
{
	struct block *block = block_in(functions, cnt);
	bool ret = nested_turns__is_block(nested, block);

	block__free(block);
	return ret;
}

#define IS_BLOCK(nested, ...)                                                                      \
	is_block(nested, (const char *const[]){ __VA_ARGS__ },                                     \
		 sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void test_jobs(void)
{
	struct nested_turns *nested = nested_turns__new();
	const char *const functions[] = { "turn", "gtk_clipboard_wait_for_text", "on_paste" };
	struct block *block = block_in(functions, 3);
	struct unwatched_list list = {};

	ok(nested_turns__is_block(nested, block), "a job makes a block");
	ok(block->samples[0].stack.frames[0].dispatcher &&
		   block->samples[0].stack.frames[1].dispatcher &&
		   !block->samples[0].stack.frames[2].dispatcher,
	   "and its handler is blamed, not what the job calls");
	block->end = JANK_END_WAIT;
	block->sample_cnt = 0;
	ok(nested_turns__is_block(nested, block), "so does any other dispatch");
	block->sample_cnt = 1;
	block__free(block);
	ok(IS_BLOCK(nested, "turn", "KJob::exec()", "QDialog::exec()", "main"),
	   "a job in a dialog, too: the innermost function counts");
	ok(!nested_turns__list(nested, &list) && !list.cnt, "none of them is counted here");
	nested_turns__free(nested);
}

static void test_dialogs(void)
{
	struct nested_turns *nested = nested_turns__new();
	struct unwatched_list list = {};

	ok(!IS_BLOCK(nested, "turn", "QDialog::exec()", "KJob::exec()", "main"),
	   "a dialog is no block, even in a job");
	ok(!IS_BLOCK(nested, "turn", "QDialog::exec()", "on_open", "main"), "nor elsewhere");
	ok(!IS_BLOCK(nested, "spin", "on_wait", "main"), "nor an unknown function");
	nested_turns__list(nested, &list);
	is_uint(list.cnt, 2, "each function has an entry");
	ok(list.cnt == 2 && list.items[0].reason == UNWATCHED_NESTED && list.items[0].pid == 7 &&
		   list.items[0].handler_cnt == 2 && list.items[0].handler_ns == 2000,
	   "with the number and the time of its handlers");
	is_str(list.cnt ? list.items[0].function : "", "QDialog::exec()", "by name");
	is_str(list.cnt > 1 ? list.items[1].function : "", "spin",
	       "an unknown one by the innermost function");
	unwatched__free(&list);
	nested_turns__free(nested);
}

int main(void)
{
	test_jobs();
	test_dialogs();
	return tap__done();
}
