/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Record of other threads while a dispatch waits: the thread that ends the wait may itself have
 * waited for another. It is not known in advance which thread that will be. So once a dispatch has
 * waited for conf.watch_ns (checked by the sampler), and until it continues, long spans off the CPU
 * of all threads are sent as OTHER.
 *
 * The task itself says since when it was off the CPU (queue_clock.bpf.h). Only its user stack must
 * be taken when it leaves. It is kept in one table, indexed by the last bits of the thread id.
 * These stacks are what the watch costs, so their number is limited, and a span may lack its own.
 */
#ifndef JANK_WAKER_WATCH_BPF_H
#define JANK_WAKER_WATCH_BPF_H

#include "bpf/classify_block.bpf.h"
#include "bpf/copy_user_stack.bpf.h"
#include "bpf/poll.bpf.h"
#include "bpf/queue_clock.bpf.h"
#include "bpf/quota_mark.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/slices.bpf.h"
#include "bpf/slot.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/wait_args.bpf.h"
#include "bpf/wait_object.bpf.h"
#include "bpf/waker.bpf.h"
#include "bpf/waker_watch_on.bpf.h"
#include "bpf/watch_budget.bpf.h"

/*
 * Frames of another thread's user stack: enough to reach the application's, at a third of the
 * verifier's cost.
 */
#define WATCH_USTACK_MAX 40

static __always_inline struct jank_other *waker_watch__place(__u32 tid)
{
	__u32 at = tid & (JANK_OTHER_MAX - 1);

	return bpf_map_lookup_elem(&jank_others, &at);
}

/*
 * Returns how often the thread has left the CPU; a sleep counts. A minimised BTF made before this
 * field was used lacks it.
 */
static __always_inline u64 waker_watch__switch_cnt(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->nvcsw))
		return 0;
	return KREAD(task, nvcsw) + KREAD(task, nivcsw);
}

/*
 * Does the slot hold the thread's last time off the CPU? While nothing was watched, or taken, the
 * thread may have run again.
 */
static __always_inline bool waker_watch__knows(struct jank_other *other, struct task_struct *task)
{
	return *(volatile __u32 *)&other->tid == pids__tid(task) &&
	       other->switch_cnt == waker_watch__switch_cnt(task);
}

/*
 * Needs the thread's time off the CPU since t_ns a record? 0: not known since when. Signed: a waker
 * may have read its clock on another CPU.
 */
static __always_inline bool waker_watch__needs(const struct jank_other *other, __u32 tid, u64 t_ns,
					       u64 now, bool with_stack)
{
	return t_ns && (s64)(now - t_ns) >= (s64)jank_conf.span_min_ns &&
	       !watch_budget__is_covered(other, tid, t_ns, now, with_stack);
}

static __always_inline void waker_watch__open(struct jank_other *other, struct task_struct *task,
					      __u32 state, s32 nr, u64 t_ns, u64 now)
{
	other->tid = pids__tid(task);
	other->switch_cnt = waker_watch__switch_cnt(task);
	other->woken_ns = 0;
	quota__mark(&other->quota, task);
	wait_args__none(&other->await);
	span__begin(&other->span.rec, JANK_REC_OTHER, task, 0, state, nr, t_ns, now);
}

/*
 * The span's begin was missed. What began in the watch could have had its stack; a short span needs
 * none.
 */
static __always_inline void waker_watch__miss_stack(struct jank_stack_buf *buf,
						    struct task_struct *task, u64 now)
{
	buf->rec.hdr.flags |= JANK_STACK_BEFORE;
	span__take_place(buf, task);
	if (buf->rec.t_ns >= jank_watch_start_ns && now - buf->rec.t_ns >= JANK_OTHER_SHORT_NS)
		lost__add(JANK_LOST_EVIDENCE);
}

/*
 * The current task's stack. Another thread may take the copy's place, so frame pointers are
 * followed, too; but the kernel's own walk is dear without them (stack__follow).
 */
static __always_inline void waker_watch__take_stack(void *ctx, struct jank_stack_buf *span,
						    struct task_struct *task, u64 now)
{
	__u64 *addrs = &span->tail[JANK_KSTACK_MAX];
	bool copied = jank_conf.copy_sz && !copy_user_stack__take_other(now);
	__u32 cnt = stack__follow((struct stack_addrs *)addrs, WATCH_USTACK_MAX);

	if (!cnt && copied) {
		*addrs = compat__user_ip(compat__user_regs(task));
		cnt = 1;
	}
	span->rec.user_cnt = cnt ?: stack__kernel_walk(ctx, task, addrs);
	script__take(0, now);
	stack__take_kernel(ctx, span);
}

/* Has waker_watch__leave nothing to do for this thread of the fair class? */
WALKED_ONCE int waker_watch__rests(__u32 tid, u64 now)
{
	const struct jank_other *other = waker_watch__place(tid);

	return other && watch_budget__rests(other, tid, now);
}

/* Have waker_watch__wake and __arrive nothing to do for a thread off the CPU since t_ns? */
WALKED_ONCE int waker_watch__passes(__u32 tid, u64 t_ns, u64 now)
{
	const struct jank_other *other = waker_watch__place(tid);

	return other && *(volatile __u32 *)&other->tid != tid &&
	       !waker_watch__needs(other, tid, t_ns, now, false);
}

/*
 * The same of a task. So it is mostly, and the three cost more than these questions. Each reads the
 * clock: a time that may be 0 would be one more state for the rest of the switch.
 */
static __always_inline bool waker_watch__lets_leave(struct task_struct *task)
{
	return !waker_watch__minds(task) ||
	       (queue_clock__knows(task) &&
		waker_watch__rests(pids__tid(task), bpf_ktime_get_ns()));
}

static __always_inline bool waker_watch__lets_wake(struct task_struct *task, u64 now)
{
	return !waker_watch__minds(task) ||
	       waker_watch__passes(pids__tid(task), queue_clock__sleeps_since(task, now), now);
}

static __always_inline bool waker_watch__lets_arrive(struct task_struct *task)
{
	u64 now;

	if (!waker_watch__minds(task))
		return true;
	now = bpf_ktime_get_ns();
	return waker_watch__passes(pids__tid(task), queue_clock__waits_since(task, now), now);
}

/* A thread without a dispatch leaves the CPU. */
static __noinline int waker_watch__leave(void *ctx, struct task_struct *task, bool preempted,
					 unsigned int task_state, u64 now)
{
	struct jank_watch *watch = waker_watch__own();
	__u32 state = JANK_STATE_RUNNABLE;
	struct jank_other *other;
	s32 nr = -1;

	if (!watch || !waker_watch__minds(task))
		return 0;
	other = waker_watch__place(pids__tid(task));
	/* mostly the thread's own waker holds the slot while the thread leaves */
	if (!other ||
	    (queue_clock__knows(task) && watch_budget__rests(other, pids__tid(task), now)) ||
	    !watch_budget__takes(watch, other, task, now) || !slot__lock(&other->writes))
		return 0;
	watch_budget__claim(other, pids__tid(task));
	watch_budget__count_stack(other, now);
	if (!preempted && task_state & 0xffff)
		state = classify_block__blocked(task, task_state, &nr);
	other->span.rec.state = state;
	other->span.rec.syscall = nr;
	state = *(volatile __u32 *)&other->span.rec.state; /* read again, as in sched__leave */
	waker_watch__open(other, task, state, *(volatile __s32 *)&other->span.rec.syscall, now,
			  now);
	if (state != JANK_STATE_RUNNABLE)
		wait_args__ask(&other->await, task, state, poll__class(other->span.rec.syscall),
			       now);
	waker_watch__take_stack(ctx, &other->span, task, now);
	slot__unlock(&other->writes);
	return 0;
}

/* Begins the span of a thread that is woken now, and has slept since t_ns without a record. */
static __noinline int waker_watch__begin_late(struct jank_other *other, struct task_struct *task,
					      u64 t_ns, u64 now)
{
	s32 nr = -1;

	waker_watch__open(other, task, classify_block__blocked(task, compat__task_state(task), &nr),
			  nr, t_ns, now);
	other->span.rec.syscall = nr;
	wait_args__see(&other->await, task, *(volatile __u32 *)&other->span.rec.state,
		       poll__class(*(volatile __s32 *)&other->span.rec.syscall));
	waker_watch__miss_stack(&other->span, task, now);
	return 0;
}

/* Adds the thread's times; after wait_object__send, which takes delay_ns for a dispatch's begin. */
static __always_inline void waker_watch__add_times(struct jank_rec_stack *rec,
						   struct task_struct *task, u64 now)
{
	rec->waker.ns = KREAD(task, se.sum_exec_runtime);
	rec->delay_ns = queue_clock__delay(task, now);
}

/*
 * A wait has ended: returns how its waker was recorded (JANK_STACK_WAKER*) if it was long; else 0.
 * Read again, so that the verifier does not keep the preceding paths apart.
 */
static __always_inline __u32 waker_watch__waker_of(const struct jank_rec_stack *span, u64 now)
{
	if (!jank_conf.watch_ns || (s64)(now - span->t_ns) < (s64)jank_conf.watch_ns)
		return 0;
	return *(volatile __u16 *)&span->hdr.flags;
}

/*
 * The current task ends a long wait: sends its stack at this moment. noted: see
 * waker_watch__waker_of.
 */
static __noinline int waker_watch__send_waker(void *ctx, __u32 noted, struct task_struct *wakee,
					      u64 now)
{
	struct task_struct *waker = KERNEL_CURRENT();
	struct jank_watch *watch = waker_watch__own();
	struct jank_rec_stack *rec;
	__u32 kernel_cnt;
	long sz;

	if (!(noted & JANK_STACK_WAKER) || !watch || !waker_watch__minds(waker))
		return 0;
	if (!watch_budget__pay(watch, now)) {
		lost__add(JANK_LOST_EVIDENCE);
		return 0;
	}
	rec = &watch->buf.rec;
	stack__begin(rec, JANK_REC_OTHER, waker, 0, now, now);
	rec->hdr.flags = JANK_STACK_WAKES | (noted & JANK_STACK_WAKER_SOFTIRQ);
	rec->state = JANK_STATE_RUNNING;
	rec->syscall = compat__syscall_nr(compat__user_regs(waker));
	waker_watch__add_times(rec, waker, now);
	rec->waker.tgid = pids__tgid(wakee);
	rec->waker.tid = pids__tid(wakee);
	record__comm(rec->waker.comm, wakee);
	kernel_cnt =
		stack__cnt(bpf_get_stack(ctx, watch->buf.tail, JANK_KSTACK_MAX * sizeof(__u64), 0),
			   JANK_KSTACK_MAX);
	sz = stack__walk_user(ctx, waker, &watch->buf.tail[kernel_cnt], WATCH_USTACK_MAX) *
	     sizeof(__u64);
	stack__record(rec, kernel_cnt, sz);
	rec->prio = facts__prio(waker);
	rec->hdr.size = stack__size(rec);
	script__send(waker, 0, now);
	return record__send_other(&watch->buf, rec->hdr.size);
}

/*
 * The begin of the thread's sleep, if it is long, was not recorded, and the slot has room for it; 0
 * otherwise. A sleeper's stack makes room.
 */
static __always_inline u64 waker_watch__missed_since(const struct jank_other *other,
						     struct task_struct *task, u64 now)
{
	u64 t_ns = queue_clock__sleeps_since(task, now);

	if (!waker_watch__needs(other, pids__tid(task), t_ns, now, false))
		return 0;
	if (!watch_budget__holds_other(other, pids__tid(task)) || !other->woken_ns)
		return t_ns;
	lost__add(JANK_LOST_EVIDENCE);
	return 0;
}

/* A sleeping thread without a dispatch is woken. Returns waker_watch__waker_of. */
static __always_inline __u32 waker_watch__end_sleep(void *ctx, struct task_struct *task, u64 now)
{
	__u32 tid = pids__tid(task), state, noted = 0;
	struct jank_other *other = waker_watch__place(tid);
	u64 missed_ns = 0;

	if (!other)
		return 0;
	if (!waker_watch__knows(other, task)) {
		missed_ns = waker_watch__missed_since(other, task, now);
		if (!missed_ns)
			return 0;
	}
	if (!slot__lock(&other->writes)) {
		if (missed_ns)
			lost__add(JANK_LOST_EVIDENCE);
		return 0;
	}
	if (missed_ns)
		waker_watch__begin_late(other, task, missed_ns, now);
	state = *(volatile __u32 *)&other->span.rec.state; /* as in sched__leave */
	if (!other->woken_ns && state != JANK_STATE_RUNNABLE) {
		other->woken_ns = now;
		if (compat__task_state(task) & TASK_FROZEN_BIT) /* as in sched__wake */
			other->span.rec.hdr.flags |= JANK_STACK_FROZEN;
		quota__mark(&other->quota, task);
		waker__record(ctx, &other->span.rec, &other->spill, state);
		noted = waker_watch__waker_of(&other->span.rec, now);
	}
	slot__unlock(&other->writes);
	return noted;
}

/* A thread that is woken while leaving the CPU does not sleep. */
static __noinline int waker_watch__wake(void *ctx, struct task_struct *task, u64 now)
{
	if (!waker_watch__minds(task) ||
	    (bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu)))
		return 0;
	return waker_watch__end_sleep(ctx, task, now);
}

/*
 * Copies the slot's data about the thread. Returns false when the slot has none, or when it is
 * being written.
 */
static __always_inline bool waker_watch__take(struct jank_watch *watch, struct jank_other *other,
					      __u32 tid)
{
	u64 writes = *(volatile u64 *)&other->writes;

	if (other->tid != tid || (__u32)writes)
		return false;
	watch->woken_ns = other->woken_ns;
	watch->quota = other->quota;
	watch->await = other->await;
	if (bpf_probe_read_kernel(&watch->buf, sizeof(watch->buf), &other->span))
		return false;
	return *(volatile u64 *)&other->writes == writes && watch->buf.rec.hdr.tid == tid;
}

/*
 * Copies the slot's data about a thread that gets the CPU into this CPU's buffer. A thread that was
 * seen neither leaving nor waking up from a long sleep was runnable. Returns false when there is
 * nothing to send.
 */
static __noinline int waker_watch__collect(struct jank_watch *watch, struct jank_other *other,
					   struct task_struct *task, u64 now)
{
	bool known = waker_watch__knows(other, task);
	u64 since_ns = known ? other->span.rec.t_ns : queue_clock__waits_since(task, now);

	if (!waker_watch__needs(other, pids__tid(task), since_ns, now, known))
		return false;
	if (known)
		return waker_watch__take(watch, other, pids__tid(task));
	span__begin(&watch->buf.rec, JANK_REC_OTHER, task, 0, JANK_STATE_RUNNABLE, -1, since_ns,
		    now);
	waker_watch__miss_stack(&watch->buf, task, now);
	quota__use_group(&watch->quota, &watch->group_quota, task);
	return true;
}

/*
 * Sends the span of a thread that gets the CPU, which waker_watch__collect has copied. The walk of
 * the kernel's stack takes half of the time: short spans have it in the thread's first record.
 */
static __noinline int waker_watch__send(struct jank_watch *watch, struct task_struct *task,
					bool first, u64 now)
{
	struct jank_rec_stack *rec = &watch->buf.rec;
	__u32 tid = pids__tid(task);

	rec->hdr.ts_ns = now;
	rec->ns = now - rec->t_ns;
	if (rec->state == JANK_STATE_RUNNABLE)
		rec->runnable_ns = rec->ns;
	else if (watch->woken_ns)
		rec->runnable_ns = now - watch->woken_ns;
	if (rec->runnable_ns)
		rec->hdr.flags |=
			quota__flag(quota__throttled_ns(&watch->quota, task, rec->runnable_ns),
				    rec->runnable_ns);
	if (rec->state != JANK_STATE_RUNNABLE)
		wait_object__send(rec, &watch->await, task);
	if (jank_conf.copy_sz)
		copy_user_stack__send_other(tid, rec->t_ns);
	stack__complete(&watch->buf, task, first || rec->ns >= JANK_OTHER_SHORT_NS);
	waker_watch__add_times(rec, task, now);
	rec->prio = facts__prio(task);
	if (rec->runnable_ns >= jank_conf.span_min_ns)
		slices__append(&watch->buf, now - rec->runnable_ns, now, tid);
	rec->hdr.size = stack__size(rec);
	script__send_taken(task, rec->t_ns, now);
	return record__send_other(&watch->buf, rec->hdr.size);
}

/* A thread without a dispatch gets the CPU. */
static __noinline int waker_watch__arrive(struct task_struct *task, u64 now)
{
	struct jank_watch *watch = waker_watch__own();
	struct jank_other *other;
	__u32 tid = pids__tid(task);
	bool got, first;

	if (!watch || !waker_watch__minds(task))
		return 0;
	other = waker_watch__place(tid);
	if (!other)
		return 0;
	got = waker_watch__collect(watch, other, task, now);
	if (*(volatile __u32 *)&other->tid == tid)
		other->tid = 0;
	if (got) {
		watch_budget__claim(other, tid);
		first = other->sent_ns < jank_watch_start_ns;
		other->sent_ns = now;
		waker_watch__send(watch, task, first, now);
	}
	watch_budget__let_rest(other, tid, task, now);
	return 0;
}

#endif
