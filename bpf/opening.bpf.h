/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A dispatch that was open before the trace: people attach when the program hangs already. User
 * space found that the thread is in a handler (user/session/openings.c); the task iterator opens
 * the dispatch. The thread's next wait in its loop ends it as any other.
 *
 * The thread may go on meanwhile. It does not sleep without counting it (nvcsw), so the same count
 * before and after means that it is still in what user space saw.
 */
#ifndef JANK_OPENING_BPF_H
#define JANK_OPENING_BPF_H

#include "bpf/classify_block.bpf.h"
#include "bpf/loop.bpf.h"
#include "bpf/loop_wait.bpf.h"
#include "bpf/poll_place.bpf.h"
#include "bpf/queue_clock.bpf.h"
#include "bpf/quota_mark.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/startup_rest.bpf.h"
#include "bpf/thread.bpf.h"
#include "bpf/wait_args.bpf.h"

/*
 * Since when the task sleeps, by CLOCK_MONOTONIC; now: not known. The reader's own values give the
 * offset of the clocks; its time on the CPU is that of its last tick, so up to a tick is missing.
 */
static __always_inline u64 opening__since(struct task_struct *task, u64 now)
{
	queue_clock__sync(KERNEL_CURRENT(), now);
	return queue_clock__sleeps_since(task, now) ?: now;
}

/* The span off the CPU that the thread is in, as sched__leave begins one. */
static __always_inline void opening__begin_span(struct jank_thread *t, struct task_struct *task,
						const struct jank_opening *opening, __u32 state,
						s32 nr, u64 now)
{
	span__begin(&t->span.rec, JANK_REC_STACK, task, opening->start_ns, state, nr,
		    opening->span_ns, now);
	span__take_place(&t->span, task);
	quota__mark(&t->quota, task);
	wait_args__see(&t->await, task, state, poll__class(nr));
	if (opening->wait.first &&
	    (opening->fd == JANK_OPENING_STARTUP || poll__class(nr) == JANK_CLASS_POLL_FDS))
		t->await.fd = opening->wait.first - 1;
	t->await.got = opening->wait.got;
	t->await.futex_word = opening->wait.futex_word;
	t->await.owner = opening->wait.owner;
	__builtin_memcpy(t->await.path, opening->wait.path, sizeof(t->await.path));
}

static __always_inline bool opening__is_sleep(unsigned int task_state)
{
	return task_state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE | TASK_STOPPED_BIT |
			     TASK_TRACED_BIT | TASK_FROZEN_BIT);
}

static __always_inline __u32 opening__state(struct task_struct *task, s32 *ret_nr)
{
	unsigned int task_state = compat__task_state(task);

	*ret_nr = -1;
	if (opening__is_sleep(task_state))
		return classify_block__blocked(task, task_state, ret_nr);
	if (bpf_core_field_exists(task->on_cpu) && !BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu))
		return JANK_STATE_RUNNABLE;
	return JANK_STATE_RUNNING;
}

static __always_inline void opening__read_regs(struct jank_opening *opening,
					       struct task_struct *task)
{
	struct pt_regs *regs = compat__user_regs(task);

	compat__all_regs(opening->regs, regs);
	opening->stack_end = compat__stack_end(task, compat__user_sp(regs));
}

/* Where the loop waits: on that epoll, or in the next call that is not deeper than the handler. */
static __always_inline void opening__set_loop(struct jank_thread *t, struct task_struct *task,
					      const struct jank_opening *opening)
{
	t->loop = opening->loop;
	nest__forget(t);
	if (opening->fd >= 0) {
		loop__set_fd(t, task, opening->fd);
		return;
	}
	t->sp = opening->sp;
	t->place = (struct jank_place){ .nr = POLL_NR_UNKNOWN, .first_fd = -1 };
}

/* The dispatch begins with the span off the CPU that the thread is in, or now. */
static __always_inline void opening__begin(struct jank_thread *t, struct task_struct *task,
					   struct jank_opening *opening)
{
	opening->start_ns = opening->span_ns;
	opening__set_loop(t, task, opening);
	t->phase = JANK_PHASE_DISPATCH;
	t->ready_cnt = JANK_READY_BEFORE;
	t->accounted = 1;
	t->handled.taken = 1; /* what is not known by now */
	facts__begin(t, task);
	t->mark_ns = opening->start_ns;
	t->exec_sum_ns = KREAD(task, se.sum_exec_runtime);
	t->exec_at_ns = thread__exec_at(t, task);
}

static __noinline int opening__fill(struct jank_thread *t, struct task_struct *task,
				    struct jank_opening *opening, u64 now)
{
	__u32 state;
	s32 nr;

	/* Read back, or the verifier walks the rest once for each state. */
	*(volatile __u32 *)&opening->state = opening__state(task, &nr);
	*(volatile s32 *)&opening->nr = nr;
	state = *(volatile __u32 *)&opening->state;
	nr = *(volatile s32 *)&opening->nr;
	opening->span_ns = state >= JANK_STATE_FIRST_BLOCKED ? opening__since(task, now) : now;
	if (opening->fd == JANK_OPENING_STARTUP) {
		t->loop = t->parks ? JANK_LOOP_PARK : JANK_LOOP_EPOLL;
		startup__fill(t, task, opening->start_ns, opening->cpu_ns, opening->span_ns, now);
	} else {
		opening__begin(t, task, opening);
	}
	if (state != JANK_STATE_RUNNING)
		opening__begin_span(t, task, opening, state, nr, now);
	if (opening->fd == JANK_OPENING_STARTUP)
		startup__rests(t, task, state, nr, opening->span_ns);
	opening__read_regs(opening, task);
	t->due = state == JANK_STATE_RUNNABLE;
	t->state = state;
	*(volatile u64 *)&t->start_ns = opening->start_ns;
	return 0;
}

/* Is the thread still in what user space saw? */
static __always_inline bool opening__holds(const struct jank_opening *opening,
					   struct task_struct *task)
{
	return KREAD(task, nvcsw) == opening->sleep_cnt;
}

static __always_inline void opening__forget(struct jank_thread *t)
{
	thread__forget_dispatch(t);
	t->phase = JANK_PHASE_NONE;
	t->fd = -1;
}

/* Opens the dispatch, unless the thread has gone on meanwhile. */
static __noinline int opening__open(struct jank_thread *t, struct task_struct *task,
				    struct jank_opening *opening)
{
	u64 now = bpf_ktime_get_ns();
	unsigned int task_state = compat__task_state(task);

	opening__fill(t, task, opening, now);
	if (!opening__holds(opening, task) || compat__task_state(task) != task_state) {
		opening__forget(t);
		return 0;
	}
	if (waker_watch__wants(t->state) && t->state != JANK_STATE_RUNNING && jank_conf.watch_ns &&
	    startup__is_watched(t))
		waker_watch__begin(pids__tid(task), opening->span_ns);
	if (opening->fd != JANK_OPENING_STARTUP)
		loop_wait__send_loop(t, task, now);
	opening->opened = 1;
	return 0;
}

/* Since when does the thread sleep, and where? It is in no handler, as far as is known. */
static __noinline int opening__see(struct task_struct *task, struct jank_opening *opening)
{
	u64 now = bpf_ktime_get_ns(), since = opening__since(task, now);

	opening__read_regs(opening, task);
	if (since != now && opening__is_sleep(compat__task_state(task)) &&
	    opening__holds(opening, task))
		opening->start_ns = opening->span_ns = since;
	opening->opened = 1;
	return 0;
}

/* Is its stack still to come? It belongs to the hang. */
static __always_inline bool opening__is_pending(const struct jank_thread *t,
						struct task_struct *task)
{
	__u32 tid = pids__tid(task);

	return t->ready_cnt == JANK_READY_BEFORE && bpf_map_lookup_elem(&jank_openings, &tid);
}

/*
 * May the start-up be opened there? A main thread that starts others waits in futexes, each of
 * which may be its park: what it has tried so is no loop yet.
 */
static __always_inline bool opening__may_start_up(const struct jank_thread *t,
						  struct task_struct *task)
{
	if (!t)
		return true;
	if (t->trial)
		return t->loop == JANK_LOOP_PARK && !startup__of(task);
	return t->fd < 0 && !t->start_ns && !thread__waits(t);
}

/* No probe has seen that wait yet, which is the first one of a loop. */
static __always_inline bool opening__waits_in_epoll(struct task_struct *task)
{
	return opening__is_sleep(compat__task_state(task)) &&
	       loop_wait__is_epoll(compat__syscall_nr(compat__user_regs(task)));
}

/*
 * A process starts up: its main thread may have gone on since user space looked at it, and be about
 * to wait in a loop now. Then the next look opens the dispatch.
 */
static __always_inline struct jank_thread *
opening__start_up(struct jank_thread *t, struct task_struct *task, struct jank_opening *opening)
{
	__u32 tgid = pids__tgid(task);
	struct jank_exec *exec = startup__exec_of(tgid);

	if (!exec || exec->looped)
		return t;
	startup__settle(exec, task);
	if (opening__waits_in_epoll(task)) {
		exec->rest_cpu_ns = KREAD(task, se.sum_exec_runtime);
		exec->rest_ns = opening__since(task, bpf_ktime_get_ns());
		return t;
	}
	if (!opening__may_start_up(t, task))
		return t;
	if (!startup__make(exec, tgid))
		return t;
	if (!opening__holds(opening, task)) {
		opening->wait.got = 0;
		opening->wait.first = 0;
		opening->sleep_cnt = KREAD(task, nvcsw);
	}
	opening->start_ns = exec->begin_ns;
	opening->cpu_ns = exec->cpu_ns;
	if (!t)
		t = thread__create(task);
	if (t && thread__end_trial(t))
		t->phase = JANK_PHASE_NONE;
	if (t)
		opening__open(t, task, opening);
	return t;
}

/* User space knows that the program will have a loop. */
static __always_inline void opening__may_hang(const struct jank_thread *t, struct task_struct *task,
					      struct jank_opening *opening)
{
	struct jank_startup *s = t && startup__is(t) ? startup__of(task) : NULL;

	if (!s || !opening__holds(opening, task))
		return;
	s->hangs = 1;
	opening->opened = 1;
}

/* The iterator meets a task. Returns its state, which is new if a dispatch was opened. */
static __always_inline struct jank_thread *opening__meet(struct jank_thread *t,
							 struct task_struct *task)
{
	__u32 tid = pids__tid(task);
	struct jank_opening *opening = bpf_map_lookup_elem(&jank_openings, &tid);

	if (!opening || opening->opened || !bpf_core_field_exists(task->nvcsw))
		return t;
	if (opening->fd == JANK_OPENING_SEEN)
		opening__see(task, opening);
	else if (opening->fd == JANK_OPENING_WITHDRAWN && t && t->start_ns &&
		 t->ready_cnt == JANK_READY_BEFORE)
		opening__forget(t);
	if (opening->fd == JANK_OPENING_STARTUP && !filter__is_left(task))
		return opening__start_up(t, task, opening);
	if (opening->fd == JANK_OPENING_HANGS)
		opening__may_hang(t, task, opening);
	if ((opening->fd < 0 && opening->fd != JANK_OPENING_BY_STACK) ||
	    !opening__holds(opening, task) || !filter__wants(opening->loop) ||
	    filter__is_left(task))
		return t;
	if (t && (t->fd >= 0 || t->start_ns || thread__waits(t)))
		return t;
	if (!t)
		t = thread__create(task);
	if (t)
		opening__open(t, task, opening);
	return t;
}

#endif
