/* SPDX-License-Identifier: GPL-2.0 */
/* The scheduler's probes: switches, wake-ups, and the ends of threads and programs. */
#include "bpf/sched.bpf.h"
#include "bpf/loop.bpf.h"

SEC("tp_btf/sched_switch")
int BPF_PROG(jank_on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct jank_thread *t;
	u64 now = 0;

	if (filter__maybe(prev->tgid)) {
		t = thread__get(prev);
		if (t && t->start_ns) {
			now = bpf_ktime_get_ns();
			sched__leave(t, prev, preempt, prev_state, now);
		}
	}
	if (jank_runnable_cnt) {
		if (!now)
			now = bpf_ktime_get_ns();
		sched__log_slice(prev, now);
	}
	if (filter__maybe(next->tgid)) {
		t = thread__get(next);
		if (!t)
			return 0;
		if (!now)
			now = bpf_ktime_get_ns();
		thread__sync_clock(t, next, now);
		if (t->start_ns)
			sched__arrive(t, next, now);
	}
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(jank_on_waking, struct task_struct *task)
{
	struct jank_thread *t;

	if (!filter__maybe(task->tgid))
		return 0;
	t = thread__get(task);
	if (t && t->start_ns)
		sched__wake(ctx, t, bpf_ktime_get_ns());
	return 0;
}

static __noinline int sched__send_thread(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_rec_thread *rec = bpf_ringbuf_reserve(&jank_ring, sizeof(*rec), 0);

	if (!rec) {
		lost__add(JANK_LOST_RING_FULL);
		return -1;
	}
	thread__fill_counts(rec, t, task, now);
	bpf_ringbuf_submit(rec, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(jank_on_exit, struct task_struct *task)
{
	struct jank_thread *t;
	u64 now;

	if (!filter__maybe(task->tgid))
		return 0;
	t = thread__get(task);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (t->start_ns && loop__lives(t, task))
		thread__close(t, task, now, JANK_END_EXIT);
	thread__forget_dispatch(t);
	t->phase = JANK_PHASE_NONE;
	/* Until it is reaped the iterator still sees it: its counts are told once. */
	if (!sched__send_thread(t, task, now))
		t->dispatch_cnt = 0;
	return 0;
}

/* Another thread than the main one takes over its number, too: what it did before is the old one's. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(jank_on_exec, struct task_struct *task, pid_t old_tid)
{
	struct jank_rec_exec rec = {};
	struct jank_thread *t;
	u64 now;

	if (!filter__traced(task->tgid))
		return 0;
	now = bpf_ktime_get_ns();
	t = thread__get(task);
	if (t) {
		if (t->start_ns)
			thread__close_as(t, task, now, JANK_END_EXEC, old_tid);
		t->phase = JANK_PHASE_NONE;
		t->looper_entry = 0;
		t->loop = JANK_LOOP_EPOLL;
		t->key = 0;
		t->fd = -1;
	}
	record__head(&rec.hdr, JANK_REC_EXEC, sizeof(rec), now, task);
	if (old_tid != task->pid)
		rec.hdr.flags = JANK_EXEC_BY_THREAD;
	record__comm(rec.comm, task);
	record__send(&rec, sizeof(rec));
	return 0;
}
