/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A main thread polls in its start-up: for an answer of the X server, of a name server, or in its
 * loop. A first poll from a place is the start-up's own wait, as the thread may never come back.
 * With the second one the place is put on probation (poll.bpf.h), and the start-up ends, as far as
 * is known, where the first one began.
 */
#ifndef JANK_STARTUP_POLL_BPF_H
#define JANK_STARTUP_POLL_BPF_H

#include "bpf/poll_place.bpf.h"
#include "bpf/startup.bpf.h"

/*
 * The thread has no state, or waits in no loop: its start-up becomes a dispatch. NULL: the process
 * did not begin lately, has a loop, or too many start up.
 */
static __always_inline struct jank_startup *startup__begin(struct jank_thread *t,
							   struct task_struct *task, u64 now)
{
	__u32 tgid = pids__tgid(task);
	struct jank_startup *s;
	struct jank_exec *exec;

	if (!startup__on() || pids__tid(task) != tgid || t->trial)
		return NULL;
	exec = startup__exec_of(tgid);
	if (!exec || exec->looped || now <= exec->begin_ns || !startup__is_near(exec, now))
		return NULL;
	startup__settle(exec, task);
	s = startup__make(exec, tgid);
	if (!s)
		return NULL;
	startup__fill(t, task, s->start_ns, s->cpu_ns, now, now);
	t->state = JANK_STATE_RUNNING;
	*(volatile u64 *)&t->start_ns = s->start_ns;
	return s;
}

/* The wait that returns now began then, if it slept. */
static __always_inline u64 startup__wait_began(const struct jank_startup *s,
					       const struct jank_thread *t, s32 nr, u64 now)
{
	const struct jank_rec_stack *rec = &t->span.rec;

	return rec->dispatch_ns == t->start_ns && rec->syscall == nr &&
			       rec->t_ns > s->returned_ns && rec->t_ns < now
		       ? rec->t_ns
		       : now;
}

/*
 * An interpreter polls from one place for all its callers: the first descriptor tells the loop from
 * a client.
 */
static __always_inline struct jank_startup_place *
startup__place(struct jank_startup *s, const struct jank_place *at, s32 first_fd)
{
	for (unsigned i = 0; i < JANK_STARTUP_PLACES; i++)
		if (i < s->place_cnt && s->places[i].at.first_fd == first_fd &&
		    poll__here(&s->places[i].at, at))
			return &s->places[i];
	return NULL;
}

/*
 * A poll that may be a loop's returned to a main thread in its start-up. Returns true when its
 * place goes on probation: the start-up is parked, and the thread has no dispatch.
 */
WALKED_ONCE_BY_POINTER int startup__polled(struct jank_thread *t, const struct jank_place *at,
					   bool may_be_loop)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_startup_place *place;
	u64 now = bpf_ktime_get_ns();
	struct jank_startup *s;
	s32 first_fd = -1;

	if (!t || !at)
		return false;
	if (poll__class(at->nr) == JANK_CLASS_POLL_FDS)
		first_fd = poll__first_fd(at);
	s = startup__is(t) ? startup__of(task) : startup__begin(t, task, now);
	if (!s)
		return !startup__is(t);
	place = startup__place(s, at, first_fd);
	if (may_be_loop && !place) {
		place = &s->places[s->place_cnt++ & (JANK_STARTUP_PLACES - 1)];
		place->at = *at;
		place->at.first_fd = first_fd;
		startup__read(&place->turn, t, task, startup__wait_began(s, t, at->nr, now), now);
		may_be_loop = t->verdict == JANK_PARK_YES;
	}
	s->returned_ns = now;
	if (!may_be_loop || !place || t->verdict == JANK_PARK_NO)
		return false;
	s->turn = place->turn;
	s->parked = STARTUP_PARKED;
	if (s->turn.end_ns - s->start_ns > jank_conf.startup_ns)
		facts__send(t, task, 0, 0, now);
	t->loop = JANK_LOOP_POLL;
	startup__send(s, t, task, thread__next_trial(t), now);
	thread__forget_dispatch(t);
	t->phase = JANK_PHASE_NONE;
	return true;
}

/* The trial moves to another place: the start-up lasted until now. */
static __noinline int startup__moves(struct jank_thread *t, struct task_struct *task)
{
	struct jank_startup *s = startup__of(task);
	u64 now = bpf_ktime_get_ns();

	if (!s || s->parked != STARTUP_PARKED)
		return 0;
	startup__continue(s, t, task, now);
	return startup__send(s, t, task, thread__next_trial(t), now);
}

#endif
