/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain of wakers, one thread per step: its name, what it did meanwhile, and where; -v shows
 * whole stacks. The explained wait is among the stacks that follow, usually the first.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/text/text.h"
#include "export/values.h"
#include "model/pid.h"

#define INDENT	     "   "
#define FRAME_INDENT "          "
#define LINKS_MAX    3	/* three lines each */
#define PART_MIN     10 /* percent of the link's time */

/* "postgres/walwriter (pid 612, tid 613, nice 10)", "indexer (its tid 4711)" */
static void put_task(struct text *t, const Jankbpf__Block *block, const Jankbpf__Link *link)
{
	const char *comm = link->comm && *link->comm ? link->comm : link->gone ? "a thread" : "?";
	bool own = link->pid == block->pid;
	struct strbuf numbers = STRBUF_INIT;

	if (link->process && !own && !text__same(link->process, link->comm)) {
		text__put(t, STYLE_BOLD, link->process);
		text__put(t, STYLE_DIM, "/");
	}
	text__put(t, STYLE_BOLD, comm);
	if (link->gone)
		strbuf__addf(&numbers, "tid %" PRIu32 ", %s", link->tid,
			     strcmp(link->gone, "fork") ? "which has ended"
							: "of the parent, before the fork");
	else if (own && link->tid == link->pid)
		strbuf__adds(&numbers, "its main thread");
	else if (own)
		strbuf__addf(&numbers, "its tid %" PRIu32, link->tid);
	else
		pid__add(&numbers, link->pid);
	if (!own && !link->gone && link->tid != link->pid)
		strbuf__addf(&numbers, ", tid %" PRIu32, link->tid);
	text__add_priority(&numbers, link->priority);
	text__putf(t, STYLE_NONE, " (%s)", strbuf__str(&numbers));
	strbuf__free(&numbers);
}

/* The state of the largest part; JANK_STATE_CNT: only the thread's wake-up was seen. */
static uint32_t most_of(const Jankbpf__Link *link)
{
	return link->state ? value__state(link->state) : JANK_STATE_CNT;
}

static bool is_part(const struct text *t, const Jankbpf__Link *link, uint32_t state)
{
	uint64_t ns = value__in_state(link->time, state);

	return ns && (state == most_of(link) || text__shows_all(t) ||
		      (double)ns * 100 >= (double)link->ns * PART_MIN);
}

static void add_part(struct strbuf *sb, const Jankbpf__Link *link, uint32_t state)
{
	strbuf__addf(sb, "%s%s ", sb->len ? ", " : "", value__state_word(state));
	clock__add_duration(sb, value__in_state(link->time, state));
}

/* The largest part; the system call and the stack belong to it. */
static void put_most(struct text *t, const Jankbpf__Link *link)
{
	uint32_t state = most_of(link);

	if (!is_part(t, link, state))
		return;
	text__put(t, STYLE_NONE, ": ");
	text__put_in_state(t, state, link->state);
	text__put(t, STYLE_NONE, " ");
	text__put_duration(t, STYLE_NONE, value__in_state(link->time, state));
	if (link->syscall)
		text__putf(t, STYLE_NONE, " in %s()", link->syscall);
}

static void put_other_states(struct text *t, const Jankbpf__Link *link)
{
	struct strbuf words = STRBUF_INIT;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		if (i != most_of(link) && is_part(t, link, i))
			add_part(&words, link, i);
	if (words.len && text__shows_all(t)) {
		strbuf__adds(&words, " of ");
		clock__add_duration(&words, link->ns);
	}
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_preemptors(struct text *t, const Jankbpf__Link *link)
{
	const Jankbpf__Preemptor *preemptor = link->n_preemptors ? link->preemptors[0] : NULL;
	uint64_t runnable_ns = value__in_state(link->time, JANK_STATE_RUNNABLE);
	struct strbuf words = STRBUF_INIT;

	if (!is_part(t, link, JANK_STATE_RUNNABLE))
		return;
	if (link->throttled_ns > runnable_ns / 2) {
		text__put_beside(t, "its CPU quota was used up");
		return;
	}
	if (!preemptor || preemptor->ns < runnable_ns / 2)
		return;
	strbuf__addf(&words, "%s (%" PRIu32, value__name(preemptor->comm), preemptor->pid);
	text__add_priority(&words, preemptor->priority);
	strbuf__adds(&words, ") ran instead");
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_waited(struct text *t, const Jankbpf__Link *link)
{
	struct strbuf words = STRBUF_INIT;

	wait__add_phrase(&words, link->waited_for, 0, link->syscall, text__shows_all(t));
	text__put_beside(t, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_stack(struct text *t, const Jankbpf__Block *block, const struct frames *stack,
		      const char *label)
{
	struct strbuf head = STRBUF_INIT, names = STRBUF_INIT;

	if (!stack->cnt)
		return;
	if (!text__shows_all(t)) {
		text__add_head_frames(&names, t, stack);
		if (!names.len)
			return;
	}
	strbuf__addf(&head, text__shows_all(t) ? "%s:" : "%s ", label);
	strbuf__adds(&head, strbuf__str(&names));
	text__put(t, STYLE_NONE, FRAME_INDENT);
	text__put(t, STYLE_DIM, strbuf__str(&head));
	text__nl(t);
	if (text__shows_all(t))
		text__add_frames(t, block, stack, NULL, SIZE_MAX);
	t->out.failed |= head.failed | names.failed;
	strbuf__free(&head);
	strbuf__free(&names);
}

static const char *role_words(const Jankbpf__Link *link)
{
	if (link->role && !strcmp(link->role, "held"))
		return " held it";
	return link->role && !strcmp(link->role, "awaited") ? " is awaited" : " woke it";
}

static void put_link(struct text *t, const Jankbpf__Block *block, size_t i)
{
	const Jankbpf__Link *link = block->chain[i];
	const struct frames stack = { link->stack, link->n_stack };
	const struct frames wake_stack = { link->wake_stack, link->n_wake_stack };

	text__put(t, STYLE_NONE, i ? INDENT INDENT "↳ " : INDENT "↳ ");
	put_task(t, block, link);
	text__put(t, STYLE_NONE, role_words(link));
	put_most(t, link);
	put_waited(t, link);
	put_other_states(t, link);
	put_preemptors(t, link);
	text__nl(t);
	if (!i || text__shows_all(t))
		put_stack(t, block, &stack, "in");
	put_stack(t, block, &wake_stack, "woke it in");
}

/* A wait in slices is longer than its sample, which is the last slice. */
static void put_explained(struct text *t, const Jankbpf__Sample *sample, uint64_t chain_ns)
{
	uint32_t state = value__state(sample->state);

	text__put(t, STYLE_NONE, INDENT);
	text__put_in_state(t, state, text__state_cell(state));
	text__put(t, STYLE_NONE, " waited ");
	text__put_duration(t, STYLE_NONE, sample->ns > chain_ns ? sample->ns : chain_ns);
	text__put(t, STYLE_NONE, " (");
	text__put_in_state(t, state, value__name(sample->state));
	text__put(t, STYLE_NONE, "):");
	text__nl(t);
}

/* The span that the chain explains; a tick may have the same time. NULL: none. */
static const Jankbpf__Sample *explained(const Jankbpf__Block *block)
{
	for (size_t i = 0; block->has_chain_sample && i < block->n_samples; i++)
		if (block->samples[i]->t_ns == block->chain_sample &&
		    !value__is_tick(block->samples[i]))
			return block->samples[i];
	return NULL;
}

void text__add_chain(struct text *t, const Jankbpf__Block *block)
{
	const Jankbpf__Sample *sample = explained(block);
	size_t shown =
		text__shows_all(t) || block->n_chain <= LINKS_MAX ? block->n_chain : LINKS_MAX;

	if (block->n_chain && sample)
		put_explained(t, sample, block->chain[0]->ns);
	for (size_t i = 0; i < shown; i++)
		put_link(t, block, i);
	if (shown == block->n_chain)
		return;
	text__putf(t, STYLE_DIM, INDENT INDENT "… %zu more threads in this chain; -v shows them",
		   block->n_chain - shown);
	text__nl(t);
}
