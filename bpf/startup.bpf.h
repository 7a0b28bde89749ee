/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Start-up: a dispatch of the main thread from the exec or fork of its process to the first wait in
 * its loop. The processes that began recently are in jank_execs, which user space reads a few times
 * a second: one that ends before has cost an entry. The dispatch is opened by the task iterator
 * (opening.bpf.h), or by the thread itself when it polls (startup_poll.bpf.h).
 *
 * A wait in epoll ends it at once. Where a loop is known only later, the start-up is parked with
 * its account, and sent with the number of the loop's trial.
 */
#ifndef JANK_STARTUP_BPF_H
#define JANK_STARTUP_BPF_H

#include "bpf/thread.bpf.h"

/* between the two forks of a daemon */
#define STARTUP_FORKS_NS 100000000
/* by then user space has seen a process (AGE_MIN_NS and a period of startups.c) */
#define STARTUP_UNSEEN_NS 300000000

#define STARTUP_PARKED 1 /* with the number of a trial */
#define STARTUP_ENDED  2 /* for certain: it is sent behind the records of its loop */

/* Is the open dispatch the start-up? */
static __always_inline bool startup__is(const struct jank_thread *t)
{
	return startup__on() && t->ready_cnt == JANK_READY_STARTUP && t->start_ns;
}

/*
 * Are other threads watched while this one waits? With -a a program without a loop would keep that
 * watch on for as long as it waits for its user.
 */
static __always_inline bool startup__is_watched(const struct jank_thread *t)
{
	return !jank_conf.all || !startup__is(t);
}

/* NULL: the task is no main thread, or its start-up is no dispatch. */
static __always_inline struct jank_startup *startup__of(struct task_struct *task)
{
	__u32 tgid = pids__tgid(task);

	if (!startup__on() || pids__tid(task) != tgid)
		return NULL;
	return bpf_map_lookup_elem(&jank_startups, &tgid);
}

/*
 * --- processes that began lately, each in one of two places (JANK_SECOND_PLACE). Most processes
 * are short, and a hash would take locks for each. One whose places are both taken has no entry.
 */

static __always_inline struct jank_exec *startup__exec_at(__u32 at)
{
	at &= JANK_EXEC_MAX - 1;
	return bpf_map_lookup_elem(&jank_execs, &at);
}

static __always_inline struct jank_exec *startup__second_exec(__u32 tgid)
{
	return startup__exec_at(JANK_SECOND_PLACE(tgid, JANK_EXEC_MAX));
}

/* NULL: the process began long ago, or had no room. */
static __always_inline struct jank_exec *startup__exec_of(__u32 tgid)
{
	struct jank_exec *exec = startup__exec_at(tgid);

	if (exec && exec->tgid != tgid)
		exec = startup__second_exec(tgid);
	return exec && exec->tgid == tgid ? exec : NULL;
}

static __always_inline bool startup__is_free(const struct jank_exec *exec, u64 now)
{
	return !exec->tgid || now - exec->own_ns > JANK_EXEC_NS;
}

/* An entry for a process without one; the caller fills it. NULL: no room. */
static __always_inline struct jank_exec *startup__new_exec(__u32 tgid, u64 now)
{
	struct jank_exec *exec = startup__exec_at(tgid);

	if (exec && !startup__is_free(exec, now))
		exec = startup__second_exec(tgid);
	return exec && startup__is_free(exec, now) ? exec : NULL;
}

/* The current task has a new program. */
static __always_inline void startup__exec(struct task_struct *task, u64 now)
{
	__u32 tgid = pids__tgid(task);
	struct jank_exec *exec = startup__exec_of(tgid);

	if (exec && exec->made)
		bpf_map_delete_elem(&jank_startups, &tgid);
	if (!exec) /* it began long ago, or is not traced as before */
		exec = startup__new_exec(tgid, now);
	if (!exec)
		return;
	*exec = (struct jank_exec){
		.begin_ns = now,
		.own_ns = now,
		.cpu_ns = KREAD(task, se.sum_exec_runtime),
		.tgid = tgid,
	};
}

struct task_struct___parent {
	struct task_struct___parent *real_parent;
	pid_t tgid;
} __attribute__((preserve_access_index));

/*
 * A daemon forks before its loop, and the parent ends: then the child's start-up is the parent's. A
 * supervisor, which has no loop of its own, stays.
 */
static __always_inline void startup__settle(struct jank_exec *exec, struct task_struct *task)
{
	struct task_struct___parent *child = (void *)task;

	if (!exec->origin_ns || !bpf_core_field_exists(child->real_parent) ||
	    (__u32)BPF_CORE_READ(child, real_parent, tgid) == exec->parent)
		return;
	exec->begin_ns = exec->origin_ns;
	exec->cpu_ns = exec->origin_cpu_ns;
	exec->origin_ns = 0;
	exec->parent = 0;
}

/* The parent may itself be a child that is about to be left: a daemon forks twice. */
static __always_inline void startup__fork(struct task_struct *parent, __u32 tgid, __u32 child_tgid)
{
	u64 now = bpf_ktime_get_ns(), sum = KREAD(parent, se.sum_exec_runtime);
	struct jank_exec *known = startup__exec_of(tgid);
	struct jank_exec *exec = startup__new_exec(child_tgid, now);

	if (!exec)
		return;
	*exec = (struct jank_exec){
		.begin_ns = now,
		.own_ns = now,
		.parent = KREAD(parent, tgid),
		.tgid = child_tgid,
	};
	if (!known || known->looped)
		return;
	startup__settle(known, parent);
	if (known->origin_ns && now - known->begin_ns < STARTUP_FORKS_NS) {
		exec->origin_ns = known->origin_ns;
		exec->origin_cpu_ns = known->origin_cpu_ns - sum;
	} else {
		exec->origin_ns = known->begin_ns;
		exec->origin_cpu_ns = known->cpu_ns - sum;
	}
}

static __always_inline void startup__exit(__u32 tgid)
{
	struct jank_exec *exec = startup__exec_of(tgid);

	if (!exec || exec->made)
		bpf_map_delete_elem(&jank_startups, &tgid);
	if (exec)
		exec->tgid = 0;
}

/* NULL: too many start up. */
static __always_inline struct jank_startup *startup__make(struct jank_exec *exec, __u32 tgid)
{
	const struct jank_startup *blank;
	struct jank_startup *s;
	__u32 zero = 0;

	blank = bpf_map_lookup_elem(&jank_startup_blank, &zero);
	if (!blank || bpf_map_update_elem(&jank_startups, &tgid, blank, BPF_ANY))
		return NULL;
	s = bpf_map_lookup_elem(&jank_startups, &tgid);
	if (!s)
		return NULL;
	exec->made = 1;
	s->start_ns = exec->begin_ns;
	s->cpu_ns = exec->cpu_ns;
	s->forked = exec->parent != 0;
	return s;
}

/* --- the account */

/*
 * Opens the account of a start-up, up to mark_ns: what the thread's CPU clock says, the rest is
 * other time. mark_ns: when the thread fell asleep, else now.
 */
static __always_inline void startup__fill(struct jank_thread *t, struct task_struct *task,
					  u64 start_ns, u64 cpu_ns, u64 mark_ns, u64 now)
{
	u64 sum = KREAD(task, se.sum_exec_runtime);
	u64 cpu = sum - cpu_ns, age = mark_ns - start_ns;

	if (cpu > age)
		cpu = age;
	t->state_ns[JANK_STATE_RUNNING] = cpu;
	t->state_ns[JANK_STATE_OTHER] = age - cpu;
	t->accounted = 1;
	t->handled.taken = 1; /* there is no message */
	t->ready_cnt = JANK_READY_STARTUP;
	t->phase = JANK_PHASE_DISPATCH;
	t->exec_sum_ns = sum - cpu;
	t->clock_off_ns = now - KREAD(KERNEL_CURRENT(), se.exec_start);
	t->exec_at_ns = start_ns;
	t->mark_ns = mark_ns;
	facts__begin(t, task);
}

static __always_inline u64 startup__take(u64 *ns, u64 over)
{
	u64 part = *ns < over ? *ns : over;

	*ns -= part;
	return over - part;
}

/* The account up to end_ns, at the end of a wait that began then, or now if it did not sleep. */
static __always_inline void startup__read(struct jank_startup_turn *turn, struct jank_thread *t,
					  struct task_struct *task, u64 end_ns, u64 now)
{
	u64 over = now - end_ns;

	turn->end_ns = end_ns;
	turn->cpu_ns = thread__cpu_ns(t, task, now);
	for (int i = 0; i < JANK_STATE_CNT; i++)
		turn->state_ns[i] = t->state_ns[i];
	if ((s64)(now - t->mark_ns) > 0)
		turn->state_ns[JANK_STATE_RUNNING] += now - t->mark_ns;
	thread__trust_cpu_clock(turn->state_ns, turn->cpu_ns);
	over = startup__take(&turn->state_ns[JANK_STATE_POLL], over);
	over = startup__take(&turn->state_ns[JANK_STATE_RUNNABLE], over);
	over = startup__take(&turn->state_ns[JANK_STATE_RUNNING], over);
	startup__take(&turn->state_ns[JANK_STATE_OTHER], over);
}

/*
 * The parked account is continued up to now, with that of the dispatch that is open on probation.
 * What was between them has the time of the thread's CPU clock, and the rest is other time.
 */
static __always_inline void startup__continue(struct jank_startup *s, const struct jank_thread *t,
					      struct task_struct *task, u64 now)
{
	u64 cpu = KREAD(task, se.sum_exec_runtime) - s->cpu_ns, from = t->start_ns ?: now;
	u64 ran = cpu > s->turn.cpu_ns ? cpu - s->turn.cpu_ns : 0, own = 0, gap;

	if (from < s->turn.end_ns || t->mark_ns > now)
		from = now;
	for (int i = 0; i < JANK_STATE_CNT; i++)
		if (from != now && t->accounted)
			s->turn.state_ns[i] += t->state_ns[i];
	if (from != now)
		own = now - t->mark_ns;
	s->turn.state_ns[JANK_STATE_RUNNING] += own;
	if (from != now && t->accounted)
		own += t->state_ns[JANK_STATE_RUNNING];
	gap = from - s->turn.end_ns;
	s->turn.cpu_ns += ran > own ? ran : own;
	ran = ran > own ? ran - own : 0;
	if (ran > gap)
		ran = gap;
	s->turn.state_ns[JANK_STATE_RUNNING] += ran;
	s->turn.state_ns[JANK_STATE_OTHER] += gap - ran;
	s->turn.end_ns = now;
}

/* The loop that was on probation is none: the start-up lasted until now. */
static __noinline int startup__goes_on(const struct jank_thread *t, struct task_struct *task)
{
	struct jank_startup *s = startup__of(task);

	if (s && s->parked == STARTUP_PARKED)
		startup__continue(s, t, task, bpf_ktime_get_ns());
	return 0;
}

/*
 * Where does it end? A place where a thread parks is known only later, and a forked worker waits
 * for its parent's orders: both may have rested before. Returns false where that is not known.
 */
static __noinline int startup__ends_at_rest(struct jank_startup *s, __u32 loop)
{
	if (!s || (loop != JANK_LOOP_PARK && !s->forked))
		return true;
	if (s->rest.end_ns && s->rest.end_ns < s->turn.end_ns)
		s->turn = s->rest;
	return s->rest.end_ns || loop != JANK_LOOP_PARK;
}

/* Sends the parked start-up. trial: of its loop; 0: that is certain. */
static __always_inline int startup__send(struct jank_startup *s, struct jank_thread *t,
					 struct task_struct *task, __u32 trial, u64 now)
{
	struct jank_rec_block *rec;

	if (!startup__ends_at_rest(s, t->loop) ||
	    s->turn.end_ns - s->start_ns <= jank_conf.startup_ns)
		return 0;
	if (share__is_over(t->user, SHARE_BLOCK_SZ, JANK_SHARE_RECORD))
		return -1;
	rec = record__reserve(sizeof(*rec));
	if (!rec)
		return -1;
	__builtin_memset(rec, 0, sizeof(*rec));
	record__head(&rec->hdr, JANK_REC_BLOCK, sizeof(*rec), now, task);
	rec->hdr.flags = trial;
	thread__fill_block(rec, t, task, now, JANK_END_WAIT);
	rec->ready_cnt = JANK_READY_STARTUP;
	rec->start_ns = s->start_ns;
	rec->duration_ns = s->turn.end_ns - s->start_ns;
	rec->start_delay_ns = 0;
	rec->cpu_ns = s->turn.cpu_ns;
	for (int i = 0; i < JANK_STATE_CNT; i++)
		rec->state_ns[i] = s->turn.state_ns[i];
	t->block_cnt++;
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* The current time may be a wait's end. Is it near that wait's begin all the same? */
static __always_inline bool startup__is_near(const struct jank_exec *exec, u64 now)
{
	return now - exec->own_ns < STARTUP_UNSEEN_NS;
}

/* When did the loop's first wait begin, of a thread without a dispatch? 0: not known. */
static __always_inline u64 startup__waits_since(const struct jank_exec *exec, __u32 loop,
						__u32 kind, u64 now)
{
	bool certain = loop != JANK_LOOP_POLL && loop != JANK_LOOP_PARK;

	if (exec->rest_ns && kind == JANK_LOOPED_MAIN)
		return exec->rest_ns;
	return (certain && !jank_conf.infer_begin) || startup__is_near(exec, now) ? now : 0;
}

/*
 * A daemon forks, and waits in its loop before user space has seen the child: its start-up has the
 * account of the CPU clock. NULL: it was short, or its end is not known.
 */
static __always_inline struct jank_startup *startup__make_late(const struct jank_thread *t,
							       struct jank_exec *exec,
							       struct task_struct *task, u64 end_ns)
{
	u64 sum = KREAD(task, se.sum_exec_runtime);
	__u32 tgid = pids__tgid(task);
	struct jank_startup *s;

	if (exec->looped || t->trial || pids__tid(task) != tgid ||
	    end_ns <= exec->begin_ns + jank_conf.startup_ns)
		return NULL;
	s = startup__make(exec, tgid);
	if (!s)
		return NULL;
	s->turn.end_ns = end_ns;
	s->turn.cpu_ns = (exec->rest_ns ? exec->rest_cpu_ns : sum) - s->cpu_ns;
	s->turn.state_ns[JANK_STATE_RUNNING] = s->turn.cpu_ns;
	s->turn.state_ns[JANK_STATE_OTHER] = end_ns - s->start_ns - s->turn.cpu_ns;
	s->parked = STARTUP_ENDED;
	return s;
}

/* --- its end */

/* The current task's start-up has ended, at the begin of a wait in a loop that is certain. */
WALKED_ONCE_BY_POINTER int startup__end(struct jank_thread *t, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_startup *s;

	if (!t)
		return 0;
	s = startup__of(task);
	if (t->state != JANK_STATE_RUNNING)
		thread__arrive_late(t, now);
	if (s) {
		startup__read(&s->turn, t, task, now, now);
		s->parked = STARTUP_ENDED;
		if (now - s->start_ns > jank_conf.startup_ns)
			facts__send(t, task, 0, 0, now);
	}
	thread__forget_dispatch(t);
	return 0;
}

static __always_inline void startup__tell(const struct jank_exec *exec, const struct jank_thread *t,
					  struct task_struct *task, u64 end_ns, u64 now)
{
	struct jank_rec_started *rec = record__reserve(sizeof(*rec));

	if (!rec)
		return;
	record__head(&rec->hdr, JANK_REC_STARTED, sizeof(*rec), now, task);
	rec->begin_ns = exec->begin_ns;
	rec->end_ns = end_ns;
	rec->loop = t->loop;
	rec->pad = 0;
	record__comm(rec->comm, task);
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
}

/*
 * The current task waits in its loop for the first time. If that is not the place that was on
 * probation, the start-up lasted until now.
 */
WALKED_ONCE_BY_POINTER int startup__looped(struct jank_thread *t, u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	__u32 tgid = pids__tgid(task), kind = JANK_LOOPED_OTHER;
	struct jank_startup *s = startup__of(task);
	struct jank_exec *exec;
	u64 end_ns = 0;

	if (!t)
		return 0;
	if (pids__tid(task) == tgid)
		kind = JANK_LOOPED_MAIN;
	exec = startup__exec_of(tgid);
	if (exec && !s) {
		startup__settle(exec, task);
		end_ns = startup__waits_since(exec, t->loop, kind, now);
		s = startup__make_late(t, exec, task, end_ns);
	}
	if (s && s->parked == STARTUP_PARKED && !t->trial) {
		startup__continue(s, t, task, now);
		s->parked = STARTUP_ENDED;
	}
	if (s && s->parked == STARTUP_ENDED)
		startup__send(s, t, task, 0, now);
	if (s && s->parked && startup__ends_at_rest(s, t->loop))
		end_ns = s->turn.end_ns;
	if (exec && !(exec->looped & kind) && end_ns)
		startup__tell(exec, t, task, end_ns, now);
	if (exec)
		exec->looped |= kind;
	if (s)
		bpf_map_delete_elem(&jank_startups, &tgid);
	return 0;
}

#endif
