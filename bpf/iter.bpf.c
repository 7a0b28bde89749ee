/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads the traced threads from outside when user space reads the iterator: counts for the status
 * line and the summary, and dispatches that have been open too long (hangs).
 */
#define JANK_RARE
#include "bpf/chain.bpf.h"
#include "bpf/copy_user_stack.bpf.h"
#include "bpf/loop.bpf.h"
#include "bpf/loop_wait.bpf.h"
#include "bpf/opening.bpf.h"
#include "bpf/quota.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/thread.bpf.h"
#include "bpf/wait_object.bpf.h"

enum { ITER_ON, ITER_OFF, ITER_LAST };

/*
 * Copies the account of a thread on another CPU, which may change meanwhile. A consistent copy sums
 * to the time since the dispatch began; otherwise the next read retries.
 */
static __always_inline bool iter__snapshot(struct jank_rec_block *rec, struct jank_thread *t,
					   struct task_struct *task, u64 now)
{
	u64 mark = *(volatile u64 *)&t->mark_ns;
	u64 sum = 0;

	thread__fill_block(rec, t, task, now, JANK_END_OPEN);
	if (rec->state >= JANK_STATE_CNT || mark > now)
		return false;
	rec->state_ns[rec->state & 15] += now - mark;
	for (int i = 0; i < JANK_STATE_CNT; i++)
		sum += rec->state_ns[i];
	return rec->start_ns && sum == rec->duration_ns;
}

/*
 * Sends the stack with which the thread left the CPU, if it is off the CPU. A thread that left it
 * again during the copy has another span by now.
 */
static __always_inline void iter__send_open_span(struct jank_stack_buf *buf, struct jank_thread *t,
						 struct task_struct *task, u64 now)
{
	if (bpf_probe_read_kernel(buf, sizeof(*buf), &t->span) || buf->rec.t_ns > now ||
	    *(volatile u64 *)&t->span.rec.t_ns != buf->rec.t_ns)
		return;
	wait_object__send(&buf->rec, &t->await, task);
	if (jank_conf.copy_sz)
		copy_user_stack__send(buf->rec.hdr.tid, buf->rec.t_ns);
	stack__complete(buf, task, true);
	buf->rec.ns = now - buf->rec.t_ns;
	buf->rec.hdr.ts_ns = now;
	buf->rec.hdr.flags |= JANK_STACK_OPEN;
	buf->rec.hdr.size = stack__size(&buf->rec);
	script__send_taken(task, buf->rec.t_ns, now);
	record__send_stack(buf, buf->rec.hdr.size);
}

/*
 * A stop is no hang, but a freeze of its cgroup is. No part reports a dispatch that was mostly
 * stopped (judge.c).
 */
static __always_inline bool iter__is_debugged(const struct jank_thread *t,
					      const struct jank_rec_block *rec)
{
	u64 stopped = rec->state_ns[JANK_STATE_STOPPED];

	if (rec->state == JANK_STATE_STOPPED && t->span.rec.hdr.flags & JANK_STACK_FROZEN)
		return false;
	return rec->duration_ns - stopped <= jank_conf.hang_ns || stopped > rec->duration_ns / 2;
}

/* Sends a hang, once for each limit; when the ring is full, the next read retries. */
static __always_inline void iter__report(struct jank_thread *t, struct jank_rec_block *rec)
{
	if (record__send(rec, sizeof(*rec)))
		return;
	t->evidence = 1;
	t->hang_sent++;
	t->hang_cnt++;
}

/* Returns for how long a quota withholds the CPU so far; the thread may get it meanwhile. */
static __always_inline u64 iter__throttled_ns(const struct jank_thread *t, struct task_struct *task,
					      const struct jank_rec_block *rec, u64 now)
{
	const struct jank_quota_mark mark = t->quota;

	if (rec->state != JANK_STATE_RUNNABLE)
		return 0;
	return quota__throttled_ns(&mark, task, now - t->mark_ns);
}

static __noinline int iter__hang(struct jank_look *look, struct jank_thread *t,
				 struct task_struct *task, u64 now)
{
	struct jank_rec_block rec = {};

	if (!loop__lives(t, task) || !iter__snapshot(&rec, t, task, now))
		return 0;
	if (!jank_conf.debugging && iter__is_debugged(t, &rec))
		return 0;
	if (share__is_over(t->user, SHARE_BLOCK_SZ + SHARE_STACK_SZ, JANK_SHARE_CNT))
		return 0; /* the next read retries */
	record__head(&rec.hdr, JANK_REC_HANG, sizeof(rec), now, task);
	rec.hdr.flags = t->trial;
	rec.cpu_ns = rec.state_ns[JANK_STATE_RUNNING];
	if (rec.state != JANK_STATE_RUNNING)
		iter__send_open_span(&look->stack, t, task, now);
	message__send(t, task, now);
	facts__send(t, task, 0, iter__throttled_ns(t, task, &rec, now), now);
	iter__report(t, &rec);
	return 0;
}

/*
 * Returns for how long a thread that was woken in its loop's wait has not got the CPU: its dispatch
 * is late before it begins. Else 0. It may get the CPU meanwhile.
 */
static __always_inline u64 iter__late_ns(struct jank_thread *t, struct task_struct *task, u64 now)
{
	u64 woken = *(volatile u64 *)&t->woken_ns;

	if (!thread__waits(t) || !t->due || !woken || now <= woken ||
	    compat__task_state(task) & 0xffff)
		return 0;
	return now - woken;
}

/* Returns the age in ns from which the open dispatch is reported, or reported again. */
static __always_inline u64 iter__limit(const struct jank_thread *t)
{
	__u32 told = t->hang_sent;

	return told < JANK_HANG_LIMITS ? jank_conf.hang_limit_ns[told] : ~0ull;
}

/* Sends the hang of a starved thread: its dispatch has not begun, all time is start delay. */
static __noinline int iter__starved(struct jank_thread *t, struct task_struct *task, u64 now)
{
	u64 delay_ns = iter__late_ns(t, task, now);
	struct jank_rec_block rec = {};

	if (delay_ns <= iter__limit(t))
		return 0;
	record__head(&rec.hdr, JANK_REC_HANG, sizeof(rec), now, task);
	rec.hdr.flags = t->trial;
	rec.start_ns = now;
	rec.start_delay_ns = delay_ns;
	rec.loop = t->loop;
	rec.fd = t->fd;
	rec.end = JANK_END_OPEN;
	rec.state = JANK_STATE_RUNNABLE;
	record__comm(rec.comm, task);
	iter__report(t, &rec);
	return 0;
}

/*
 * Confirms a polling thread on probation when user space found it waiting and recognizes the wait
 * by its callers. That may become known after the thread's first turn, and the thread may not
 * return for a long time.
 */
static __always_inline void iter__confirm(struct jank_thread *t, struct task_struct *task, u64 now)
{
	const struct jank_park_place place = {
		.sp = t->place.sp,
		.tid = pids__tid(task),
		.nr = t->place.nr,
	};

	if (t->loop != JANK_LOOP_POLL || !bpf_map_lookup_elem(&jank_parks, &place))
		return;
	loop_wait__send_loop(t, task, now);
	loop_wait__send_of(t, task, now);
	t->trial = 0;
}

/*
 * Does the thread sleep at a place that user space has found to be one of rest since it fell
 * asleep? Its dispatch ended then; it learns so when it returns (park__was_one).
 */
static __noinline int iter__rests(struct jank_thread *t)
{
	__u32 state = *(volatile __u32 *)&t->state;

	return state >= JANK_STATE_FIRST_BLOCKED && chain__was_park(t);
}

/* Is the thread no longer watched, because of the budget, or with its whole process? */
static __noinline int iter__is_switched_off(const struct jank_thread *t, struct task_struct *task)
{
	return jank_reduced & JANK_REDUCE_ALL || filter__is_left(task) ||
	       (t->loop == JANK_LOOP_PARK && jank_reduced & JANK_REDUCE_POOLS);
}

/*
 * Is the thread's loop unwanted? By the place where it waits in epoll, or for a main thread whose
 * trial began before its program was known.
 */
static __noinline int iter__is_unwanted(const struct jank_thread *t, struct task_struct *task)
{
	__u32 tgid = pids__tgid(task);
	const struct jank_parks *parks;

	if (t->loop == JANK_LOOP_EPOLL)
		return t->code && off__is(task, t->code);
	parks = bpf_map_lookup_elem(&jank_parkers, &tgid);
	return t->loop == JANK_LOOP_PARK && parks && parks->off_start != parks->off_end;
}

/*
 * Marks a thread with an unwanted loop; it may be running elsewhere. A sleeping thread may not
 * return for a long time, so the watch for its waker ends here. A thread that has released its
 * state is freed. Returns ITER_LAST if its counts are to be sent first: user space knows them, and
 * they must not vanish from the sums.
 */
static __noinline int iter__off(struct jank_thread *t, struct task_struct *task)
{
	int switched_off = iter__is_switched_off(t, task);

	if (!t->off && !switched_off && !iter__is_unwanted(t, task))
		return ITER_ON;
	off__mark(t);
	if (jank_conf.watch_ns)
		waker_watch__end(pids__tid(task), 0);
	if (switched_off && t->off != JANK_OFF_TOLD && !t->trial && t->dispatch_cnt)
		return ITER_LAST;
	if (t->phase == JANK_PHASE_NONE)
		thread__drop(task, pids__tid(task));
	return ITER_OFF;
}

/* The thread may end this dispatch meanwhile, and begin another. */
static __noinline int iter__fill_open(struct jank_rec_thread *rec, struct jank_thread *t,
				      struct task_struct *task, u64 now)
{
	u64 start = *(volatile u64 *)&t->start_ns;

	if (!start) {
		rec->open_delay_ns = iter__late_ns(t, task, now);
	} else if (now > start) {
		rec->open_ns = now - start;
		rec->open_delay_ns = t->start_delay_ns;
		rec->open_state = t->state;
	}
	return 0;
}

/* After the counts with JANK_THREAD_LAST were taken. The next read frees the state. */
static __always_inline void iter__told(const struct jank_look *look, struct jank_thread *t)
{
	if (look->thread.hdr.flags & JANK_THREAD_LAST)
		t->off = JANK_OFF_TOLD;
}

/* Not while the agent is paused: what still hangs then is reported later. */
static __always_inline bool iter__hangs(void)
{
	return jank_conf.hang_ns && !(jank_conf.adjustable && jank_threshold_ns == ~0ull);
}

/* The thread's start-up lasts: is it a hang? It is given up, or the program will have a loop. */
static __noinline bool iter__hangs_at_start(struct jank_thread *t, struct task_struct *task,
					    u64 now)
{
	const struct jank_startup *s = startup__of(task);
	u64 age = now - t->start_ns;

	if (age > JANK_EXEC_NS && !(s && s->hangs))
		opening__forget(t);
	return s && s->hangs && iter__hangs() && age > iter__limit(t);
}

/* Sends the thread's hang and fills its counts into *look. Returns true when it has any counts. */
static __always_inline bool iter__look(struct jank_look *look, struct jank_thread *t,
				       struct task_struct *task)
{
	u64 now = bpf_ktime_get_ns();
	u64 start = *(volatile u64 *)&t->start_ns;

	if (jank_reduced || thread__park_gen()) {
		int off = iter__off(t, task);

		if (off == ITER_LAST) {
			thread__fill_counts(&look->thread, t, task, now);
			look->thread.hdr.flags = JANK_THREAD_LAST;
		}
		if (off != ITER_ON)
			return off == ITER_LAST;
	}
	if (startup__is(t)) { /* it is no loop yet */
		if (iter__hangs_at_start(t, task, now))
			iter__hang(look, t, task, now);
		return false;
	}
	if (t->trial)
		iter__confirm(t, task, now);
	if (start && iter__rests(t)) {
		if (chain__compares(t) && !(t->parks & JANK_PARKS_MAIN))
			return false; /* its polls are no loop */
		start = now;
	}
	if (iter__hangs() && start && now > start && now - start > iter__limit(t) &&
	    !opening__is_pending(t, task))
		iter__hang(look, t, task, now);
	else if (iter__hangs() && !start)
		iter__starved(t, task, now);
	if (t->trial || (!t->dispatch_cnt && !t->start_ns))
		return false;
	thread__fill_counts(&look->thread, t, task, now);
	if (start != now)
		iter__fill_open(&look->thread, t, task, now);
	return true;
}

static __always_inline struct jank_look *iter__room(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&jank_look, &zero);
}

/* kinds: JANK_PARKS_* of this thread. */
static __always_inline bool iter__wants_candidate(__u32 tid, __u32 tgid, __u32 kinds)
{
	return kinds & ~JANK_PARKS_COMPARED && filter__wants(JANK_LOOP_PARK) &&
	       (!jank_conf.main_thread || tid == tgid);
}

#ifdef JANK_PLAIN
/* The task is learned when the thread leaves the CPU. */
static __always_inline struct jank_thread *iter__make(__u32 tid)
{
	__u32 zero = 0;
	struct jank_thread *blank = bpf_map_lookup_elem(&jank_blank, &zero), *t;

	if (blank)
		bpf_map_update_elem(&jank_threads, &tid, blank, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&jank_threads, &tid);
	if (!t) {
		lost__add(JANK_LOST_NO_THREAD);
		return NULL;
	}
	t->fd = -1;
	t->user = JANK_SHARE_OTHERS;
	return t;
}

/*
 * User space runs this for each thread in the hash; returns 1 when there are counts. It also runs
 * it for each thread of a process with parks, with the thread's number, the JANK_PARKS_*, and the
 * process's number (raw_tp test runs: 1b4d60ec162f, 5.10).
 */
SEC("raw_tp/sys_enter")
int jank_on_task(__u64 *args)
{
	__u32 tid = args[0], parks = args[1], tgid = args[2], kinds = parks;
	struct jank_thread *t = bpf_map_lookup_elem(&jank_threads, &tid);
	struct jank_look *look = iter__room();

	if (parks) {
		if (tid != tgid && !(parks & JANK_PARKS_WORKERS))
			kinds &= ~JANK_PARKS_MAIN; /* thread names are not known here */
		if (iter__wants_candidate(tid, tgid, kinds) && (t || (t = iter__make(tid))))
			thread__may_park(t, kinds);
		return 0;
	}
	if (!t || !look || !t->task || !iter__look(look, t, (struct task_struct *)t->task))
		return 0;
	iter__told(look, t);
	return 1;
}
#else
static __always_inline struct jank_thread *iter__on_process(struct task_struct *task)
{
	__u32 tgid = pids__tgid(task);
	const struct jank_parks *parks = bpf_map_lookup_elem(&jank_parkers, &tgid);
	struct jank_thread *t = thread__get(task);
	__u32 kinds;

	kinds = parks ? filter__parks(parks->kinds, task) : 0;
	if (!iter__wants_candidate(pids__tid(task), tgid, kinds))
		return t;
	if (!t)
		t = thread__create(task);
	if (t)
		thread__may_park(t, kinds);
	return t;
}

/*
 * Is it asleep in epoll, in a loop that is wanted? Not with -a, because the filters test the
 * current task.
 */
static __always_inline bool iter__is_sleeper(struct task_struct *task)
{
	struct pt_regs *regs = compat__user_regs(task);

	return !jank_conf.all && compat__task_state(task) & TASK_INTERRUPTIBLE &&
	       loop_wait__is_epoll(compat__syscall_nr(regs)) && filter__wants(JANK_LOOP_EPOLL) &&
	       filter__traced(task) &&
	       !(thread__park_gen() && off__is(task, compat__user_ip(regs)));
}

/*
 * A thread that has slept in epoll since before the trace: with a state, its wake-up time is
 * recorded. Otherwise its first dispatch would have no start delay. It must still sleep when this
 * is written, because its own probes also set the phase.
 */
static __always_inline struct jank_thread *iter__meet_sleeper(struct jank_thread *t,
							      struct task_struct *task)
{
	if ((t && (t->fd >= 0 || t->phase != JANK_PHASE_CANDIDATE)) || !iter__is_sleeper(task))
		return t;
	if (!t)
		t = thread__create(task);
	if (t && t->fd < 0 && compat__task_state(task) & TASK_INTERRUPTIBLE) {
		t->loop = JANK_LOOP_EPOLL;
		t->code = compat__user_ip(compat__user_regs(task)); /* for iter__is_unwanted */
		t->phase = JANK_PHASE_WAITING;
	}
	return t;
}

SEC("iter/task")
int jank_on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct jank_look *look = iter__room();
	struct jank_thread *t;

	if (!task || !look || !filter__maybe(task))
		return 0;
	t = thread__park_gen() ? iter__on_process(task) : thread__get(task);
	t = opening__meet(iter__meet_sleeper(t, task), task);
	/* A write that does not fit is repeated by the next read. */
	if (t && iter__look(look, t, task) &&
	    !bpf_seq_write(ctx->meta->seq, &look->thread, sizeof(look->thread)))
		iter__told(look, t);
	return 0;
}
#endif
