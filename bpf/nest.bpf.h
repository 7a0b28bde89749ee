/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Nested turns: a handler that waits in its own loop again, deeper in the stack, for a dialog or a
 * job that must be done before it goes on. Each nested turn is a dispatch. What the handler took
 * is accounted beside these. At the next wait from the loop's own depth it is sent
 * (JANK_END_NESTED), with one stack of a nested wait. That stack tells user space whether the
 * program waited, or its user had a dialog open.
 */
#ifndef JANK_NEST_BPF_H
#define JANK_NEST_BPF_H

#include "bpf/copy_user_stack.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/thread.bpf.h"

/* Interpreters reach one wait at depths that differ by 96 bytes. */
#define NEST_DEPTH 128
/* Fewer dispatches do not show where the loop waits. */
#define NEST_TURNS 4
/* After so many nested turns in a row, the loop waits there. */
#define NEST_MOVED 65536

static __always_inline struct jank_nest *nest__place(__u32 tid)
{
	__u32 at = tid & (JANK_NEST_CNT - 1);

	return bpf_map_lookup_elem(&jank_nests, &at);
}

/* Returns what is known of the thread's handler; NULL: another thread has its place. */
static __always_inline struct jank_nest *nest__of(struct task_struct *task)
{
	__u32 tid = pids__tid(task);
	struct jank_nest *nest = nest__place(tid);

	return nest && nest->tid == tid ? nest : NULL;
}

static __always_inline struct jank_nest *nest__begin(struct jank_thread *t,
						     struct task_struct *task)
{
	__u32 tid = pids__tid(task);
	struct jank_nest *nest = nest__place(tid);

	if (!nest)
		return NULL;
	__builtin_memset(nest, 0, sizeof(*nest));
	nest->tid = tid;
	t->nest_ns = t->start_ns;
	return nest;
}

/*
 * Sends the stack of the current task's nested wait, once, when its handler has taken too long
 * already.
 */
WALKED_ONCE int nest__tell(u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t = thread__get(task);
	struct pt_regs *regs = compat__user_regs(task);
	struct jank_nest *nest = nest__of(task);
	struct jank_rec_stack *rec;

	if (!t || !nest || nest->told || now - t->nest_ns <= thread__threshold_ns())
		return 0;
	nest->told = 1;
	rec = &t->span.rec;
	if (share__is_over(t->user, SHARE_STACK_SZ, JANK_SHARE_STACK))
		return 0;
	if (jank_conf.copy_sz)
		copy_user_stack__send_now(t->nest_ns | JANK_COPY_NESTED, now);
	stack__begin(rec, JANK_REC_STACK, task, t->nest_ns, now, now);
	rec->hdr.flags = JANK_STACK_NESTED;
	rec->state = JANK_STATE_POLL;
	rec->syscall = compat__syscall_nr(regs);
	rec->kernel_cnt = 0;
	rec->user_cnt = 1;
	rec->slice_cnt = 0;
	rec->prio = 0;
	__builtin_memset(&rec->waker, 0, sizeof(rec->waker));
	t->span.tail[0] = compat__user_ip(regs);
	rec->hdr.size = stack__size(rec);
	record__send_stack(&t->span, rec->hdr.size);
	rec->hdr.flags = 0;
	return 0;
}

/* Adds the open dispatch, which ends now. */
static __always_inline void nest__add(struct jank_nest *nest, const struct jank_thread *t, u64 now)
{
	for (int i = 0; i < JANK_STATE_CNT; i++)
		nest->state_ns[i] += t->accounted ? t->state_ns[i] : 0;
	if ((s64)(now - t->mark_ns) > 0)
		nest->state_ns[JANK_STATE_RUNNING] += now - t->mark_ns;
}

/* Time between the dispatches is that of the nested waits. */
static __always_inline void nest__fill(struct jank_rec_block *rec, const struct jank_nest *nest,
				       const struct jank_thread *t, u64 now)
{
	u64 sum = 0;

	rec->start_ns = t->nest_ns;
	rec->duration_ns = now - t->nest_ns;
	rec->loop = t->loop;
	rec->fd = t->fd;
	rec->end = JANK_END_NESTED;
	for (int i = 0; i < JANK_STATE_CNT; i++) {
		rec->state_ns[i] = nest->state_ns[i];
		sum += rec->state_ns[i];
	}
	rec->state_ns[JANK_STATE_POLL] += rec->duration_ns - sum;
	rec->cpu_ns = rec->state_ns[JANK_STATE_RUNNING];
	rec->stack_cnt = 1;
}

/* The current task's loop waits at its own depth again: the handler has ended. Global, too. */
WALKED_ONCE int nest__end(u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t = thread__get(task);
	struct jank_nest *nest = nest__of(task);
	struct jank_rec_block *rec;

	if (!t)
		return 0;
	if (!nest || !nest->told)
		goto done;
	if (t->start_ns)
		nest__add(nest, t, now);
	if (share__is_over(t->user, SHARE_BLOCK_SZ, JANK_SHARE_RECORD))
		goto done;
	rec = record__reserve(sizeof(*rec));
	if (!rec)
		goto done;
	__builtin_memset(rec, 0, sizeof(*rec));
	record__head(&rec->hdr, JANK_REC_BLOCK, sizeof(*rec), now, task);
	nest__fill(rec, nest, t, now);
	record__comm(rec->comm, task);
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
done:
	t->nest_ns = 0;
	return 0;
}

/* A wait deeper than the loop's begins or goes on. */
static __always_inline void nest__deeper(struct jank_thread *t, struct task_struct *task, u64 sp,
					 u64 now)
{
	struct jank_nest *nest = t->nest_ns ? nest__of(task) : nest__begin(t, task);

	if (!nest) { /* another thread has its place */
		t->nest_ns = 0;
		return;
	}
	nest__add(nest, t, now);
	nest__tell(now);
	if (++nest->turn_cnt > NEST_MOVED) {
		t->nest_ns = 0;
		t->sp = sp;
	}
}

/*
 * The loop's wait begins at another depth than at its last turn (t->turn_sp), or in nested turns;
 * its dispatch is still open. Keeps the outermost depth. Returns true when that is a new place: the
 * first wait that was seen was nested.
 */
WALKED_ONCE_BY_POINTER int nest__turn(struct jank_thread *t, u64 sp, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	bool outer;

	if (!t)
		return 0;
	outer = sp > t->sp + NEST_DEPTH;
	t->turn_sp = sp;
	if (sp + NEST_DEPTH >= t->sp) {
		if (t->nest_ns)
			nest__end(now);
		if (sp > t->sp)
			t->sp = sp;
		return outer;
	}
	if (!t->start_ns || t->trial || (!t->nest_ns && t->dispatch_cnt < NEST_TURNS))
		return 0;
	nest__deeper(t, task, sp, now);
	if (t->nest_ns)
		t->turn_sp = 0;
	return 0;
}

/*
 * The loop's wait has returned: opens its dispatch. A single nested wait may take all of the
 * handler's time.
 */
static __always_inline void nest__open(struct jank_thread *t, struct task_struct *task, u64 now)
{
	bool slept = t->woken_ns;

	thread__open(t, task, now);
	if (slept && t->nest_ns)
		nest__tell(now);
}

/* The thread has another loop, or its loop another place. */
static __always_inline void nest__forget(struct jank_thread *t)
{
	t->nest_ns = 0;
	t->turn_sp = 0;
}

#endif
