/* SPDX-License-Identifier: GPL-2.0 */
/* The sampler: a clock event on each CPU that looks whether a slow dispatch is running there. */
#include "bpf/stack.bpf.h"
#include "bpf/take.bpf.h"
#include "bpf/thread.bpf.h"

static __always_inline void sampler__take_stack(void *ctx, struct jank_stack_buf *buf)
{
	long sz = bpf_get_stack(ctx, buf->tail, JANK_KSTACK_MAX * sizeof(__u64), 0);
	__u32 kernel_cnt = stack__cnt(sz, JANK_KSTACK_MAX);

	sz = bpf_get_stack(ctx, &buf->tail[kernel_cnt], JANK_USTACK_MAX * sizeof(__u64),
			   BPF_F_USER_STACK);
	stack__note(&buf->rec, kernel_cnt, sz);
}

static __noinline int sampler__sample(void *ctx, struct jank_thread *t, struct task_struct *task,
				      u64 now)
{
	__u32 zero = 0;
	struct jank_stack_buf *buf = bpf_map_lookup_elem(&jank_scratch, &zero);
	struct pt_regs *regs = compat__user_regs(task);

	if (!buf)
		return 0;
	if (!t->handled.taken)
		take__all(t, task);
	record__head(&buf->rec.hdr, JANK_REC_STACK, 0, now, task);
	buf->rec.dispatch_ns = t->start_ns;
	buf->rec.t_ns = now;
	buf->rec.ns = 0;
	buf->rec.runnable_ns = 0;
	buf->rec.state = JANK_STATE_RUNNING;
	buf->rec.syscall = compat__syscall_nr(regs);
	sampler__take_stack(ctx, buf);
	buf->rec.hdr.size = stack__size(&buf->rec);
	t->evidence = 1;
	if (record__send_stack(buf, buf->rec.hdr.size))
		t->shed_cnt++;
	else
		t->stack_cnt++;
	return 0;
}

SEC("perf_event")
int jank_on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_thread *t;
	u64 now;

	if (!filter__maybe(KREAD(task, tgid)))
		return 0;
	t = thread__get(task);
	if (!t || !t->start_ns)
		return 0;
	now = bpf_ktime_get_ns();
	if (now - t->start_ns >= jank_conf.sample_age_ns)
		sampler__sample(ctx, t, task, now);
	return 0;
}
