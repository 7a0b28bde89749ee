/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The chain of wakers, link by link, each with its activity during the wait. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "model/stack.h"
#include "verdict/sentence.h"

#define NEARLY_ALL   0.9
#define LINKS_SHOWN  2 /* the report below the sentence, and `chain`, have all of them */
#define RELAYS_SHOWN 3 /* the same between two links */

/* True if the sentence already names the task as the peer of the wait. */
static bool is_peer(const struct block *block, const struct activity *activity,
		    const struct other_task *task, const char *reason)
{
	const struct wait_object *waited = activity->waited;

	return waited && task->pid && waited->peer_task.pid == task->pid &&
	       task->pid != block->pid && sentence__names_peer(activity, reason);
}

/* True if the wait was for the end of the thread or process. */
static bool is_for_its_end(uint32_t state, const char *reason)
{
	return words__is(reason, "join") ||
	       (words__is(reason, "child") && state != JANK_STATE_POLL);
}

/* True if it ended the wait by its exit, which closed its descriptors. */
static bool ended(const struct link *link)
{
	const struct stack *stack = &link->wake_stack;

	for (size_t i = 0; i < stack->frame_cnt; i++)
		if (stack->frames[i].kernel && words__is(stack->frames[i].function, "do_exit"))
			return true;
	return false;
}

static const char by_waker[] = " until woken by ";

/* How the link is joined to the wait: " held by ", " until woken by " … */
static const char *joint(const struct link *link, uint32_t state, const char *reason)
{
	if (link->role == LINK_HELD)
		return " held by ";
	if (words__is(reason, "gil")) /* the thread that releases it wakes the next one */
		return " last held by ";
	if (is_for_its_end(state, reason))
		return ": ";
	if (link->role == LINK_AWAITED || sentence__is_spent(reason) ||
	    words__is(reason, "safepoint"))
		return ", waiting for ";
	if (ended(link))
		return " until the end of ";
	return by_waker;
}

/*
 * Adds ", which for 60 % of that time": the state's share of the interval. of_part: the interval is
 * only a part of the time that the sentence said.
 */
static void add_which(struct strbuf *sb, const struct link *link, bool of_part)
{
	double share = link->ns ? (double)link->part_ns[link->state] / (double)link->ns : 1;

	strbuf__adds(sb, ", which");
	if (of_part) {
		strbuf__adds(sb, " for ");
		clock__add_duration(sb, link->part_ns[link->state]);
		strbuf__adds(sb, " of it");
		return;
	}
	if (share >= NEARLY_ALL || share <= 0)
		return;
	strbuf__adds(sb, " for ");
	words__add_pct(sb, share);
	strbuf__adds(sb, " of that time");
}

/*
 * Priority inversion: the link holds what a thread of better priority waits for, and a third task
 * of higher priority than the link keeps it from running.
 */
static bool is_inversion(const struct block *block, const struct link *link,
			 const struct other_task *task)
{
	uint16_t ours = block->facts.known ? block->facts.prio : 0;

	return ours && link->prio > ours && task->prio && task->prio < link->prio;
}

static void add_wanting(struct strbuf *sb, const struct block *block, const struct link *link)
{
	uint64_t ns = link->part_ns[JANK_STATE_RUNNABLE];
	struct runners runners =
		runners__of(link->preemptors, link->preemptor_cnt, link->task.pid, 0);

	if (link->throttled_ns > ns / 2) {
		strbuf__adds(sb, " waited for a CPU, since its cgroup had used up its CPU quota");
		return;
	}
	strbuf__adds(sb, " waited for a CPU");
	if (!runners__explain(&runners, ns))
		return;
	strbuf__adds(sb, " while ");
	words__add_runners(sb, &runners, link->prio);
	strbuf__adds(sb, " ran");
	if (is_inversion(block, link, runners.task))
		strbuf__adds(sb, ": a priority inversion");
}

static void add_running(struct strbuf *sb, const struct block *block, const struct link *link,
			const char *reason)
{
	const struct frame *frame = stack__busy_frame(&link->stack);
	bool kernel = link->stack.frame_cnt && link->stack.frames[0].kernel;

	if (reason)
		strbuf__addf(sb, " was %s", words__of_reason(reason));
	else
		strbuf__adds(sb, kernel ? " was busy in the kernel" : " was busy on the CPU");
	if (kernel && link->syscall_name)
		strbuf__addf(sb, ", for %s%s", link->syscall_name, frame ? " ←" : "");
	else if (frame)
		strbuf__adds(sb, " in");
	if (frame) {
		strbuf__adds(sb, " ");
		words__add_place(sb, block, frame, frame->language ? frame->line : 0);
	}
}

/* Adds the link's activity. If the next link explains its wait, the place comes first. */
static void add_deed(struct strbuf *sb, const struct block *block, const struct link *link,
		     const struct activity *activity, const char *reason, bool goes_on)
{
	if (link->state == JANK_STATE_RUNNING) {
		add_running(sb, block, link, reason);
	} else if (link->state == JANK_STATE_RUNNABLE) {
		add_wanting(sb, block, link);
	} else if (link->state == JANK_STATE_SLEEP || wait_reason__is_sleep(activity)) {
		strbuf__adds(sb, " slept");
		sentence__add_place(sb, block, activity);
	} else if (words__is(reason, "frozen")) {
		strbuf__adds(sb, " was frozen with its cgroup");
	} else if (link->state == JANK_STATE_STOPPED && !reason) {
		strbuf__adds(sb, " was stopped, by a debugger or a signal");
	} else {
		strbuf__adds(sb, sentence__is_spent(reason) ? " was" : " waited");
		if (goes_on)
			sentence__add_place(sb, block, activity);
		sentence__add_object(sb, block, activity, reason);
		if (!goes_on)
			sentence__add_place(sb, block, activity);
	}
}

/* True if add_deed adds a place. */
static bool has_place(const struct link *link)
{
	return link->state != JANK_STATE_RUNNABLE && stack__app_frame(&link->stack);
}

/*
 * Adds " in hold (shop.py)": the interpreted function that ended the wait, if the activity before
 * has no place of its own. Native functions are left out: they were unwound with frame pointers and
 * are not reliable enough.
 */
static void add_end(struct strbuf *sb, const struct block *block, const struct link *link)
{
	const struct frame *frame = stack__app_frame(&link->wake_stack);

	if (!frame && link->state == JANK_STATE_RUNNABLE)
		frame = stack__app_frame(&link->stack); /* where it lost the CPU */
	if (!frame || !frame->language || has_place(link))
		return;
	strbuf__adds(sb, " in ");
	words__add_place(sb, block, frame, frame->language ? frame->line : 0);
}

/*
 * Adds " held by thread 'x' (tid 12)"; ", 40 ms of it held by …" if that is true only of the part
 * of the waits that the chain explains. Returns whether the words for that part are still to come.
 */
static bool add_task(struct strbuf *sb, const struct block *block, const struct link *link,
		     const char *joined, bool of_part)
{
	if (!joined)
		return of_part;
	if (of_part && *joined == ' ') {
		strbuf__adds(sb, ", ");
		clock__add_duration(sb, link->ns);
		strbuf__adds(sb, " of it");
		of_part = false;
	}
	strbuf__adds(sb, joined);
	words__add_task(sb, block, &link->task, link->process);
	return of_part;
}

/*
 * True if the link only passed an event on: it waited for events until another task woke it, as a
 * bus, a proxy or a connection's thread does.
 */
static bool is_relay(const struct block *block, size_t i)
{
	const struct link *link = &block->chain[i];

	return i + 1 < block->chain_cnt && block->chain[i + 1].role == LINK_WOKE &&
	       link->state == JANK_STATE_POLL &&
	       (double)link->part_ns[JANK_STATE_POLL] > NEARLY_ALL * (double)link->ns;
}

/* Returns the link of the task that the relays from there on waited for. */
static size_t behind_relays(const struct block *block, size_t i)
{
	while (is_relay(block, i))
		i++;
	return i;
}

/* Adds " until woken through thread 'gdbus' (tid 7), dbus-daemon (pid 5)". */
static void add_relays(struct strbuf *sb, const struct block *block, size_t from, size_t to)
{
	size_t end = to - from > RELAYS_SHOWN ? from + RELAYS_SHOWN : to;

	for (size_t i = from; i < end; i++) {
		strbuf__adds(sb, i == from ? " until woken through " : ", ");
		words__add_task(sb, block, &block->chain[i].task, block->chain[i].process);
	}
	if (end < to)
		strbuf__addf(sb, " and %zu more", to - end);
}

void sentence__add_chain(struct strbuf *sb, const struct block *block,
			 const struct activity *waiting, const char *reason, uint64_t ns)
{
	struct activity activity = *waiting;
	bool of_part = (double)block->chain[0].ns < NEARLY_ALL * (double)ns;
	size_t shown = 0, i = 0;

	for (; i < block->chain_cnt && shown < LINKS_SHOWN; i++, shown++) {
		const struct link *link = &block->chain[i];
		const char *joined = is_peer(block, &activity, &link->task, reason)
					     ? NULL
					     : joint(link, activity.state, reason);
		size_t behind = words__is(joined, by_waker) ? behind_relays(block, i) : i;
		bool goes_on;

		if (behind > i) {
			add_relays(sb, block, i, behind);
			joined = " by ";
			i = behind;
			link = &block->chain[i];
		}
		of_part = add_task(sb, block, link, joined, of_part);
		goes_on = i + 1 < block->chain_cnt && shown + 1 < LINKS_SHOWN;
		add_end(sb, block, link);
		if (link->state >= JANK_STATE_CNT)
			return;
		activity = activity__of_link(block, i);
		reason = wait_reason__of(&activity);
		add_which(sb, link, of_part);
		of_part = false;
		add_deed(sb, block, link, &activity, reason, goes_on);
	}
	if (i < block->chain_cnt)
		strbuf__addf(sb, ", and so on (%zu more)", block->chain_cnt - i);
}

void sentence__add_other(struct strbuf *sb, const struct block *block, const struct sample *sample,
			 const char *reason)
{
	struct activity activity = activity__of_sample(sample);

	if (sample->waited && sample->waited->owner.tid) {
		strbuf__adds(sb, " held by ");
		words__add_task(sb, block, &sample->waited->owner, NULL);
		return;
	}
	if (!activity.waker_tid || !wait_reason__needs_thread(sample->state, reason) ||
	    is_peer(block, &activity, &sample->waker, reason) || activity__timed_out(&activity))
		return;
	strbuf__adds(sb, is_for_its_end(sample->state, reason) ? ": " : " until woken by ");
	words__add_task(sb, block, &sample->waker, NULL);
}
