/* SPDX-License-Identifier: GPL-2.0 */
/* What the watch of waker_watch.bpf.h may cost: which spans have a record, and which a stack. */
#ifndef JANK_WATCH_BUDGET_BPF_H
#define JANK_WATCH_BUDGET_BPF_H

#include "bpf/pids.bpf.h"
#include "bpf/queue_clock.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/watch_rest.bpf.h"

/*
 * Most threads leave for a short time, again and again. A span below JANK_OTHER_SHORT_NS needs no
 * record if the thread has sent one in jank_watch_rest_ns: its times tell how much such spans took.
 * Those of the first WATCH_EACH_NS of a watch are all sent. The rest grows with the wait, so that
 * the end of a wait which no record covers remains a small part of it.
 */
#define WATCH_EACH_NS	 8000000
#define WATCH_REST_SHIFT 4 /* a 16th of the wait, and JANK_OTHER_SHORT_NS at least */

/*
 * Stacks that may be taken: on a CPU in WATCH_PERIOD_NS; of a thread one in jank_watch_rest_ns, or
 * WATCH_BURST after a rest.
 */
#define WATCH_TOKENS	256
#define WATCH_PERIOD_NS 20000000
#define WATCH_BURST	8

static __always_inline bool watch_budget__pay(struct jank_watch *watch, u64 now)
{
	if (now - watch->paid_ns > WATCH_PERIOD_NS) {
		watch->paid_ns = now;
		watch->token_cnt = WATCH_TOKENS;
	}
	if (!watch->token_cnt)
		return false;
	watch->token_cnt--;
	return true;
}

/* Holds the slot the span of another thread, which it left or was woken from in this watch? */
static __always_inline bool watch_budget__holds_other(const struct jank_other *other, __u32 tid)
{
	u64 start_ns = jank_watch_start_ns;

	return other->tid && other->tid != tid &&
	       (other->span.rec.t_ns >= start_ns || other->woken_ns >= start_ns);
}

/* The slot's times are those of this thread from now on. */
static __always_inline void watch_budget__claim(struct jank_other *other, __u32 tid)
{
	if (other->last_tid == tid)
		return;
	other->last_tid = tid;
	other->paid_ns = 0;
	other->sent_ns = 0;
}

/*
 * Counts a stack of the slot's thread. The next one is due before the thread needs a record, which
 * then has it.
 */
static __always_inline void watch_budget__count_stack(struct jank_other *other, u64 now)
{
	u64 rest_ns = jank_watch_rest_ns - jank_watch_rest_ns / 8,
	    rested_ns = now - (WATCH_BURST - 1) * rest_ns;

	if (other->paid_ns < rested_ns)
		other->paid_ns = rested_ns;
	other->paid_ns += rest_ns;
}

/*
 * Do the times of the thread's other records account for its span since t_ns? with_stack: a stack
 * was taken for it, and is used if most of the time to the next record is over.
 */
static __always_inline bool watch_budget__is_covered(const struct jank_other *other, __u32 tid,
						     u64 t_ns, u64 now, bool with_stack)
{
	u64 rest_ns = jank_watch_rest_ns - (with_stack ? jank_watch_rest_ns / 4 : 0);
	u64 start_ns = jank_watch_start_ns;

	return other->last_tid == tid && other->sent_ns >= start_ns &&
	       now - other->sent_ns < rest_ns && now - t_ns < JANK_OTHER_SHORT_NS &&
	       now - start_ns > WATCH_EACH_NS;
}

/* Has the thread no stack to take? Its span is found when it is woken, or gets the CPU. */
static __always_inline bool watch_budget__rests(const struct jank_other *other, __u32 tid, u64 now)
{
	return other->last_tid == tid && other->paid_ns > now;
}

/* The thread gets the CPU: does it need neither a stack nor the record of a short span for now? */
static __always_inline void watch_budget__let_rest(const struct jank_other *other, __u32 tid,
						   struct task_struct *task, u64 now)
{
	u64 until_ns = other->sent_ns + jank_watch_rest_ns;

	if (other->paid_ns < until_ns)
		until_ns = other->paid_ns;
	if (other->last_tid == tid && other->sent_ns >= jank_watch_start_ns && until_ns > now &&
	    now - jank_watch_start_ns > WATCH_EACH_NS && queue_clock__knows(task))
		watch_rest__begin(KREAD(task, pid), until_ns);
}

/* Is the stack of a thread that does not rest taken? */
static __always_inline bool watch_budget__takes(struct jank_watch *watch,
						const struct jank_other *other,
						struct task_struct *task, u64 now)
{
	if (!watch_budget__holds_other(other, pids__tid(task)) && watch_budget__pay(watch, now))
		return true;
	if (!queue_clock__knows(task))
		lost__add(JANK_LOST_EVIDENCE);
	return false;
}

#endif
