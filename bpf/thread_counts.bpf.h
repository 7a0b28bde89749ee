/* SPDX-License-Identifier: GPL-2.0 */
/* Counts of a thread: its dispatches, and the histograms of their durations and start delays. */
#ifndef JANK_THREAD_COUNTS_BPF_H
#define JANK_THREAD_COUNTS_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/record.bpf.h"

/* Counts a duration in ns. Returns true when the counter is full. */
static __always_inline bool thread__count(struct jank_hist *hist, u64 ns)
{
	__u64 bucket = jank_hist__bucket(ns, jank_hist__log2(ns));
	__u32 cnt = 0;

	if (bucket < JANK_HIST_BUCKETS)
		cnt = ++hist->cnt[bucket];
	if (ns > hist->max_ns)
		hist->max_ns = ns;
	return cnt >= JANK_HIST_FULL;
}

static __always_inline void thread__fill_counts(struct jank_rec_thread *rec, struct jank_thread *t,
						struct task_struct *task, u64 now)
{
	record__head(&rec->hdr, JANK_REC_THREAD, sizeof(*rec), now, task);
	rec->dispatch_cnt = t->dispatch_cnt;
	rec->block_cnt = t->block_cnt;
	rec->hang_cnt = t->hang_cnt;
	rec->loop = t->loop;
	rec->pad = 0;
	record__comm(rec->comm, task);
	bpf_probe_read_kernel(&rec->dispatches, sizeof(rec->dispatches), &t->dispatches);
	rec->dispatches.edge_ns = jank_conf.threshold_ns;
	bpf_probe_read_kernel(&rec->starts, sizeof(rec->starts), &t->starts);
	rec->starts.edge_ns = jank_conf.threshold_ns;
	rec->open_ns = 0;
	rec->open_delay_ns = 0;
	rec->open_state = 0;
	rec->pad2 = 0;
}

/* Sends the thread's counts. Returns -1 when the ring is full; the caller counts the loss. */
static __noinline int thread__send_counts(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_rec_thread *rec = bpf_ringbuf_reserve(&jank_ring, sizeof(*rec), 0);

	if (!rec)
		return -1;
	thread__fill_counts(rec, t, task, now);
	bpf_ringbuf_submit(rec, 0);
	return 0;
}

WALKED_ONCE_BY_POINTER int thread__clear_counts(struct jank_thread *t)
{
	if (!t)
		return 0;
	t->dispatch_cnt = 0;
	t->block_cnt = 0;
	t->hang_cnt = 0;
	/* A failed read fills its buffer with zeros in one call (bpf_probe_read_kernel_common). */
	bpf_probe_read_kernel(&t->dispatches, sizeof(t->dispatches), NULL);
	bpf_probe_read_kernel(&t->starts, sizeof(t->starts), NULL);
	return 0;
}

/*
 * A counter is full: sends the counts as those of a thread that ended, and resets them. When the
 * ring is full, the counts continue and the next call retries; counts are lost only after another
 * 2^31.
 */
static __noinline int thread__flush(struct jank_thread *t, struct task_struct *task, u64 now)
{
	if (thread__send_counts(t, task, now))
		return -1;
	return thread__clear_counts(t);
}

#endif
