/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of wakers, one thread per step: its name, what it did meanwhile, and where; -v shows
 * whole stacks. The explained wait is among the stacks that follow, usually the first.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "export/shared_words.h"
#include "export/text/text.h"

#define INDENT	     "   "
#define FRAME_INDENT "          "
#define PART_MIN     10 /* percent of the link's time */

/* "postgres/walwriter (pid 612, tid 613, nice 10)", "indexer (its tid 4711)" */
static void put_task(struct text *t, const struct block *block, const struct link *link)
{
	const struct other_task *task = &link->task;
	bool own = task->pid == block->pid;
	struct strbuf numbers = STRBUF_INIT;

	if (link->process && !own && strcmp(link->process, task->comm)) {
		text__put(t, STYLE_BOLD, link->process);
		text__put(t, STYLE_DIM, "/");
	}
	text__put(t, STYLE_BOLD, *task->comm ? task->comm : "?");
	if (own && task->tid == task->pid)
		strbuf__adds(&numbers, "its main thread");
	else if (own)
		strbuf__addf(&numbers, "its tid %" PRIu32, task->tid);
	else
		strbuf__addf(&numbers, "pid %" PRIu32, task->pid);
	if (!own && task->tid != task->pid)
		strbuf__addf(&numbers, ", tid %" PRIu32, task->tid);
	text__add_priority(&numbers, link->prio);
	text__putf(t, STYLE_NONE, " (%s)", strbuf__str(&numbers));
	strbuf__free(&numbers);
}

static bool is_part(const struct text *t, const struct link *link, uint32_t state)
{
	uint64_t ns = link->part_ns[state];

	return ns && (state == link->state || text__shows_all(t) ||
		      (double)ns * 100 >= (double)link->ns * PART_MIN);
}

static void add_part(struct strbuf *sb, const struct link *link, uint32_t state)
{
	strbuf__addf(sb, "%s%s ", sb->len ? ", " : "", state__name(state));
	clock__add_duration(sb, link->part_ns[state]);
}

/* The largest part; the system call and the stack belong to it. */
static void put_most(struct text *t, const struct link *link)
{
	if (link->state >= JANK_STATE_CNT || !is_part(t, link, link->state))
		return;
	text__put(t, STYLE_NONE, ": ");
	text__put_in_state(t, link->state, state__name(link->state));
	text__put(t, STYLE_NONE, " ");
	text__put_duration(t, STYLE_NONE, link->part_ns[link->state]);
	if (link->syscall_name)
		text__putf(t, STYLE_NONE, " in %s()", link->syscall_name);
}

static void put_other_states(struct text *t, const struct link *link)
{
	struct strbuf words = STRBUF_INIT;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		if (i != link->state && is_part(t, link, i))
			add_part(&words, link, i);
	if (words.len && text__shows_all(t)) {
		strbuf__adds(&words, " of ");
		clock__add_duration(&words, link->ns);
	}
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_preemptors(struct text *t, const struct link *link)
{
	const struct other_task *preemptor = link->preemptors;
	struct strbuf words = STRBUF_INIT;

	if (!link->preemptor_cnt || !is_part(t, link, JANK_STATE_RUNNABLE))
		return;
	strbuf__addf(&words, "%s (%" PRIu32, preemptor->comm, preemptor->pid);
	text__add_priority(&words, preemptor->prio);
	strbuf__adds(&words, ") ran instead");
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_waited(struct text *t, const struct link *link)
{
	struct strbuf words = STRBUF_INIT;

	wait__add_phrase(&words, link->waited, 0, link->syscall_name, text__shows_all(t));
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_stack(struct text *t, const struct block *block, const struct stack *stack,
		      const char *label)
{
	struct strbuf head = STRBUF_INIT;

	if (!stack__frame_cnt(stack))
		return;
	strbuf__addf(&head, text__shows_all(t) ? "%s:" : "%s ", label);
	if (!text__shows_all(t))
		text__add_head_frames(&head, t, stack);
	text__put(t, STYLE_NONE, FRAME_INDENT);
	text__put(t, STYLE_DIM, strbuf__str(&head));
	text__nl(t);
	if (text__shows_all(t))
		text__add_frames(t, block, stack);
	t->out.failed |= head.failed;
	strbuf__free(&head);
}

static void put_link(struct text *t, const struct block *block, size_t i)
{
	const struct link *link = &block->chain[i];

	text__put(t, STYLE_NONE, i ? INDENT INDENT "↳ " : INDENT "↳ ");
	put_task(t, block, link);
	text__put(t, STYLE_NONE, link->role == LINK_HELD ? " held it" : " woke it");
	put_most(t, link);
	put_waited(t, link);
	put_other_states(t, link);
	put_preemptors(t, link);
	text__nl(t);
	put_stack(t, block, &link->stack, "in");
	put_stack(t, block, &link->wake_stack, "woke it in");
}

/* A wait in slices is longer than its sample, which is the last slice. */
static void put_explained(struct text *t, const struct sample *sample, uint64_t chain_ns)
{
	text__put(t, STYLE_NONE, INDENT);
	text__put_in_state(t, sample->state, text__state_cell(sample->state));
	text__put(t, STYLE_NONE, " waited ");
	text__put_duration(t, STYLE_NONE, sample->ns > chain_ns ? sample->ns : chain_ns);
	text__put(t, STYLE_NONE, " (");
	text__put_in_state(t, sample->state, state__name(sample->state));
	text__put(t, STYLE_NONE, "):");
	text__nl(t);
}

void text__add_chain(struct text *t, const struct block *block)
{
	if (block->chain_cnt && block->chain_sample < block->sample_cnt)
		put_explained(t, &block->samples[block->chain_sample], block->chain[0].ns);
	for (size_t i = 0; i < block->chain_cnt; i++)
		put_link(t, block, i);
}
