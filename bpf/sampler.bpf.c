/* SPDX-License-Identifier: GPL-2.0 */
/* Sampler: a clock event on each CPU that checks whether a slow dispatch is running there. */
#include "bpf/copy_user_stack.bpf.h"
#include "bpf/history.bpf.h"
#include "bpf/quota.bpf.h"
#include "bpf/read_message.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/thread.bpf.h"
#include "bpf/waker_watch_on.bpf.h"
#include "bpf/watch_budget.bpf.h"

/* A longer wait is no longer watched: its cause has been seen. */
#define WATCH_MAX_NS 60000000000ull

/* The same for threads of a cgroup that wait for this CPU already: the watch begins. */
static __noinline int sampler__mark_group(struct jank_quota_mark *mark, struct task_struct *task,
					  u64 group)
{
	struct cfs_rq **queues, *queue = NULL;

	mark->ns = QUOTA_NONE;
	if (!quota__is_by_thread(task) || !bpf_core_field_exists(struct task_group, cfs_rq) ||
	    !group)
		return 0;
	queues = BPF_CORE_READ((struct task_group *)group, cfs_rq);
	bpf_probe_read_kernel(&queue, sizeof(queue), &queues[bpf_get_smp_processor_id()]);
	mark->queue = (u64)queue;
	if (queue)
		mark->ns = quota__queue_ns(queue);
	return 0;
}

/*
 * Turns the watch on while a thread waits long. Branch-free: the verifier would walk each path
 * through the loop to the end. The factors are sign bits. An empty slot (0) counts as a wait longer
 * than WATCH_MAX_NS. least_ns: how long the latest one of the waits is watched.
 */
static __noinline int sampler__look(struct jank_watch *watch, u64 now)
{
	u64 least_ns = WATCH_MAX_NS;
	u64 on = 0;

	for (int i = 0; i < JANK_WAITER_MAX; i++) {
		u64 late_ns = now - *(volatile u64 *)&jank_waiter_ns[i] - jank_conf.watch_ns, less;
		u64 watched = (~late_ns & (late_ns - WATCH_MAX_NS)) >> 63, is_less;

		barrier_var(watched); /* or the compiler makes a branch of the factor */
		on |= watched;
		less = watched * (late_ns - WATCH_MAX_NS) + WATCH_MAX_NS - least_ns;
		is_less = less >> 63;
		barrier_var(is_less);
		least_ns += less * is_less;
	}
	if (!on) {
		jank_watch_on = 0;
		return 0;
	}
	least_ns >>= WATCH_REST_SHIFT;
	jank_watch_rest_ns = least_ns > JANK_OTHER_SHORT_NS ? least_ns : JANK_OTHER_SHORT_NS;
	if (!jank_watch_on) {
		jank_watch_start_ns = now;
		jank_watch_on = 1;
	}
	if (watch->start_ns != jank_watch_start_ns) {
		watch->start_ns = jank_watch_start_ns;
		sampler__mark_group(&watch->group_quota, KERNEL_CURRENT(), jank_watch_group);
	}
	return 0;
}

/* copied: a copy of the user stack was sent before this. */
static __always_inline void sampler__take_stack(void *ctx, struct jank_stack_buf *buf,
						struct pt_regs *regs, bool copied)
{
	long sz = bpf_get_stack(ctx, buf->tail, JANK_KSTACK_MAX * sizeof(__u64), 0);
	__u32 kernel_cnt = stack__cnt(sz, JANK_KSTACK_MAX);

	if (copied) {
		buf->tail[kernel_cnt] = compat__user_ip(regs);
		sz = sizeof(__u64);
	} else {
		sz = bpf_get_stack(ctx, &buf->tail[kernel_cnt], JANK_USTACK_MAX * sizeof(__u64),
				   BPF_F_USER_STACK);
	}
	stack__record(&buf->rec, kernel_cnt, sz);
}

static __always_inline bool sampler__copy(struct task_struct *task, u64 dispatch_ns, u64 now)
{
	return dispatch_ns && jank_conf.copy_sz && !copy_user_stack__send_now(dispatch_ns, now);
}

/*
 * Sends the current task's stack as a record of this kind. Returns nonzero when the ring was full.
 */
static __noinline int sampler__send(void *ctx, struct task_struct *task, __u16 kind,
				    u64 dispatch_ns, u64 now)
{
	__u32 zero = 0;
	struct jank_stack_buf *buf = bpf_map_lookup_elem(&jank_scratch, &zero);
	struct pt_regs *regs = compat__user_regs(task);
	bool copied;

	if (!buf)
		return -1;
	script__send(task, dispatch_ns, now);
	copied = sampler__copy(task, dispatch_ns, now);
	stack__begin(&buf->rec, kind, task, dispatch_ns, now, now);
	buf->rec.state = JANK_STATE_RUNNING;
	buf->rec.syscall = compat__syscall_nr(regs);
	sampler__take_stack(ctx, buf, regs, copied);
	buf->rec.prio = facts__prio(task);
	buf->rec.hdr.size = stack__size(&buf->rec);
	return dispatch_ns ? record__send_stack(buf, buf->rec.hdr.size)
			   : record__send_other(buf, buf->rec.hdr.size);
}

static __always_inline void sampler__sample(void *ctx, struct jank_thread *t,
					    struct task_struct *task, u64 now)
{
	if (!t->handled.taken)
		read_message__all(t);
	t->evidence = 1;
	if (share__is_over(t->user, SHARE_STACK_SZ, JANK_SHARE_STACK) ||
	    sampler__send(ctx, task, JANK_REC_STACK, t->start_ns, now))
		t->shed_cnt++;
	else
		t->stack_cnt++;
}

SEC("perf_event")
int jank_on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_watch *watch = waker_watch__own();
	u64 now = bpf_ktime_get_ns();
	struct jank_thread *t;

	if (jank_conf.watch_ns && watch)
		sampler__look(watch, now);
	t = filter__maybe(task) ? thread__get(task) : NULL;
	if (history__is_on() && t)
		history__tick(task, t->start_ns, PT_REGS_IP(&ctx->regs), now);
	if (t && t->start_ns) {
		if (now - t->start_ns >= jank_conf.sample_age_ns && !t->off)
			sampler__sample(ctx, t, task, now);
	} else if (waker_watch__is_on() && waker_watch__minds(task)) {
		sampler__send(ctx, task, JANK_REC_OTHER, 0, now);
	}
	return 0;
}
