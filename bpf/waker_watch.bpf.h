/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Record of other threads while a dispatch waits: the thread that ends the wait may itself have
 * waited for another. It is not known in advance which thread that will be. Once a dispatch has
 * waited for conf.watch_ns (checked by the sampler), and until it continues, the off-CPU spans of
 * all threads are kept in one table. The index is the last bits of the thread id; a later thread
 * overwrites an earlier one. Long spans are sent as OTHER. Each tick of the sampler sets the number
 * of spans that may be recorded.
 */
#ifndef JANK_WAKER_WATCH_BPF_H
#define JANK_WAKER_WATCH_BPF_H

#include "bpf/classify_block.bpf.h"
#include "bpf/copy_user_stack.bpf.h"
#include "bpf/poll.bpf.h"
#include "bpf/quota_mark.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/slices.bpf.h"
#include "bpf/slot.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/wait_args.bpf.h"
#include "bpf/wait_object.bpf.h"
#include "bpf/waker.bpf.h"
#include "bpf/waker_watch_on.bpf.h"

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

/* Stacks that may be walked on a CPU in WATCH_PERIOD_NS: about 0.1 ms. */
#define WATCH_TOKENS	256
#define WATCH_PERIOD_NS 20000000

static __always_inline bool waker_watch__pay(struct jank_watch *watch, u64 now)
{
	if (now - watch->paid_ns > WATCH_PERIOD_NS) {
		watch->paid_ns = now;
		watch->token_cnt = WATCH_TOKENS;
	}
	if (!watch->token_cnt) {
		lost__add(JANK_LOST_EVIDENCE);
		return false;
	}
	watch->token_cnt--;
	return true;
}

static __always_inline bool waker_watch__lock(struct jank_other *other, u64 now)
{
	if (slot__lock(&other->writes))
		return true;
	/*
	 * Mostly the thread's own waker holds the slot while the thread leaves: no loss, but the
	 * new span is unknown.
	 */
	other->taken_ns = now;
	return false;
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
 * Does the slot hold the thread's last time off the CPU? While nothing was watched the thread may
 * have run again.
 */
static __always_inline bool waker_watch__knows(struct jank_other *other, struct task_struct *task)
{
	return *(volatile __u32 *)&other->tid == pids__tid(task) &&
	       other->switch_cnt == waker_watch__switch_cnt(task);
}

static __always_inline void waker_watch__fill(struct jank_other *other, struct task_struct *task,
					      __u32 state, s32 nr, u64 t_ns, u64 now)
{
	struct jank_rec_stack *rec = &other->span.rec;

	if (other->tid && other->tid != pids__tid(task))
		other->taken_ns = now;
	other->tid = pids__tid(task);
	other->switch_cnt = waker_watch__switch_cnt(task);
	other->woken_ns = 0;
	quota__mark(&other->quota, task);
	wait_args__none(&other->await);
	stack__begin(rec, JANK_REC_OTHER, task, 0, t_ns, now);
	if (state == JANK_STATE_STOPPED && compat__is_frozen(task, compat__task_state(task)))
		rec->hdr.flags |= JANK_STACK_FROZEN;
	rec->state = state;
	rec->syscall = nr;
	rec->prio = facts__prio(task);
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
	if (!other)
		return 0;
	if (!waker_watch__pay(watch, now)) {
		other->taken_ns = now;
		return 0;
	}
	if (!waker_watch__lock(other, now))
		return 0;
	if (!preempted && task_state & 0xffff)
		state = classify_block__blocked(task, task_state, &nr);
	other->span.rec.state = state;
	other->span.rec.syscall = nr;
	state = *(volatile __u32 *)&other->span.rec.state; /* read again, as in sched__leave */
	waker_watch__fill(other, task, state, *(volatile __s32 *)&other->span.rec.syscall, now,
			  now);
	if (state != JANK_STATE_RUNNABLE)
		wait_args__ask(&other->await, task, state, poll__class(other->span.rec.syscall),
			       now);
	other->span.rec.user_cnt =
		stack__walk_user(ctx, task, &other->span.tail[JANK_KSTACK_MAX], WATCH_USTACK_MAX);
	if (jank_conf.copy_sz)
		copy_user_stack__take_other(now);
	script__take(0, now);
	stack__take_kernel(ctx, &other->span);
	slot__unlock(&other->writes);
	return 0;
}

/*
 * The thread's time off the CPU was not recorded. Did it begin before the watch? Not if a span of a
 * thread with this slot was dropped since, or overwritten, or the thread is new.
 */
static __always_inline bool waker_watch__missed_none(const struct jank_other *other,
						     struct task_struct *task)
{
	u64 start_ns = jank_watch_start_ns;

	return bpf_core_field_exists(task->start_time) && bpf_core_field_exists(task->nvcsw) &&
	       KREAD(task, start_time) < start_ns && other->taken_ns < start_ns;
}

/*
 * A thread that fell asleep before the watch wakes up. Its CPU clock gives the begin of the sleep,
 * by this CPU's clock offset. Where stolen time shifts the CPUs' clocks apart, the result may be
 * too early.
 */
static __noinline int waker_watch__begin_late(struct jank_other *other, struct task_struct *task,
					      u64 now)
{
	struct jank_watch *watch = waker_watch__own();
	u64 t_ns = jank_watch_start_ns;
	s32 nr = -1;

	if (watch && watch->clock_off_ns &&
	    KREAD(task, se.exec_start) + watch->clock_off_ns < jank_watch_start_ns)
		t_ns = KREAD(task, se.exec_start) + watch->clock_off_ns;
	waker_watch__fill(other, task, classify_block__blocked(task, compat__task_state(task), &nr),
			  nr, t_ns, now);
	other->span.rec.syscall = nr;
	wait_args__see(&other->await, task, *(volatile __u32 *)&other->span.rec.state,
		       poll__class(*(volatile __s32 *)&other->span.rec.syscall));
	other->span.rec.hdr.flags |= JANK_STACK_BEFORE;
	other->span.rec.user_cnt = 1;
	other->span.rec.kernel_cnt = 0;
	other->span.tail[JANK_KSTACK_MAX] = compat__user_ip(compat__user_regs(task));
	return 0;
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

	if (!(noted & JANK_STACK_WAKER) || !watch || !waker_watch__minds(waker) ||
	    !waker_watch__pay(watch, now))
		return 0;
	rec = &watch->buf.rec;
	stack__begin(rec, JANK_REC_OTHER, waker, 0, now, now);
	rec->hdr.flags = JANK_STACK_WAKES | (noted & JANK_STACK_WAKER_SOFTIRQ);
	rec->state = JANK_STATE_RUNNING;
	rec->syscall = compat__syscall_nr(compat__user_regs(waker));
	rec->waker.ns = 0;
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

/* A sleeping thread without a dispatch is woken. Returns waker_watch__waker_of. */
static __always_inline __u32 waker_watch__end_sleep(void *ctx, struct task_struct *task, u64 now)
{
	__u32 tid = pids__tid(task), state, noted = 0;
	struct jank_other *other = waker_watch__place(tid);

	if (!other ||
	    (!waker_watch__knows(other, task) && !waker_watch__missed_none(other, task)) ||
	    !waker_watch__lock(other, now))
		return 0;
	if (!waker_watch__knows(other, task))
		waker_watch__begin_late(other, task, now);
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
 * A thread gets the CPU, and neither its leaving nor its wake-up was seen: it was runnable all the
 * time.
 */
static __always_inline void waker_watch__begin_runnable(struct jank_watch *watch,
							struct jank_other *other,
							struct task_struct *task, u64 now)
{
	waker_watch__fill(other, task, JANK_STATE_RUNNABLE, -1, jank_watch_start_ns, now);
	watch->buf.rec = other->span.rec;
	watch->buf.rec.hdr.flags = JANK_STACK_BEFORE;
	quota__use_group(&watch->quota, &watch->group_quota, task);
	watch->buf.rec.user_cnt = 1;
	watch->buf.rec.kernel_cnt = 0;
	watch->buf.tail[JANK_KSTACK_MAX] = compat__user_ip(compat__user_regs(task));
}

/*
 * Copies the slot's data about a thread that gets the CPU into this CPU's buffer. Returns false
 * when there is nothing to send.
 */
static __noinline int waker_watch__collect(struct jank_watch *watch, struct jank_other *other,
					   struct task_struct *task, u64 now)
{
	bool known = waker_watch__knows(other, task);
	u64 since_ns = known ? other->span.rec.t_ns : jank_watch_start_ns;

	/* Signed: the watch may have begun on another CPU after this one read the clock. */
	if ((s64)(now - since_ns) < (s64)jank_conf.span_min_ns)
		return false;
	if (known)
		return waker_watch__take(watch, other, pids__tid(task));
	if (!waker_watch__missed_none(other, task) || !waker_watch__lock(other, now))
		return false;
	waker_watch__begin_runnable(watch, other, task, now);
	slot__unlock(&other->writes);
	return true;
}

/* A thread without a dispatch gets the CPU. */
static __noinline int waker_watch__arrive(struct task_struct *task, u64 now)
{
	struct jank_watch *watch = waker_watch__own();
	struct jank_rec_stack *rec;
	struct jank_other *other;
	__u32 tid = pids__tid(task);
	bool got;

	if (!watch || !waker_watch__minds(task))
		return 0;
	watch->clock_off_ns = now - KREAD(task, se.exec_start);
	other = waker_watch__place(tid);
	if (!other)
		return 0;
	got = waker_watch__collect(watch, other, task, now);
	if (*(volatile __u32 *)&other->tid == tid)
		other->tid = 0;
	if (!got)
		return 0;
	rec = &watch->buf.rec;
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
	stack__complete(&watch->buf, task);
	rec->prio = facts__prio(task);
	if (rec->runnable_ns >= jank_conf.span_min_ns)
		slices__append(&watch->buf, now - rec->runnable_ns, now, tid);
	rec->hdr.size = stack__size(rec);
	script__send_taken(task, rec->t_ns, now);
	return record__send_other(&watch->buf, rec->hdr.size);
}

#endif
