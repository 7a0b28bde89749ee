/* SPDX-License-Identifier: GPL-2.0 */
/* Writing of records to the ring: fill, submit, and count each dropped one by reason. */
#ifndef JANK_RECORD_BPF_H
#define JANK_RECORD_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/pids.bpf.h"

static __always_inline void lost__add(__u32 reason)
{
	__u64 *cnt = bpf_map_lookup_elem(&jank_lost, &reason);

	if (cnt)
		__sync_fetch_and_add(cnt, 1);
}

static __always_inline void record__head(struct jank_rec *rec, __u16 kind, __u32 size, u64 now,
					 struct task_struct *task)
{
	rec->size = size;
	rec->kind = kind;
	rec->flags = 0;
	rec->ts_ns = now;
	rec->tgid = pids__tgid(task);
	rec->tid = pids__tid(task);
	rec->cpu = bpf_get_smp_processor_id();
	rec->pad = 0;
}

static __always_inline void record__comm(char *dst, struct task_struct *task)
{
	bpf_probe_read_kernel(dst, JANK_COMM_SZ, task->comm);
}

/*
 * Returns the ring's memory for a record, to be submitted; NULL: the ring is full, and that is
 * counted. Deep in a chain of calls the stack has no room for a record (tests/bpf/stack_depth.t).
 */
static __always_inline void *record__reserve(__u64 size)
{
	void *rec = bpf_ringbuf_reserve(&jank_ring, size, 0);

	if (!rec)
		lost__add(JANK_LOST_RING_FULL);
	return rec;
}

/*
 * Sends a record that must not wait: it wakes the reader. Otherwise mixed wake-up flags delay a
 * record by up to the timeout of the reader's poll.
 */
static __always_inline int record__send(void *rec, __u64 size)
{
	int err = bpf_ringbuf_output(&jank_ring, rec, size, BPF_RB_FORCE_WAKEUP);

	if (err)
		lost__add(JANK_LOST_RING_FULL);
	return err;
}

/* Is the ring three quarters full? The rest is reserved for blocks. */
static __always_inline bool record__is_crowded(void)
{
	__u64 room = bpf_ringbuf_query(&jank_ring, BPF_RB_RING_SIZE);

	return bpf_ringbuf_query(&jank_ring, BPF_RB_AVAIL_DATA) > room - room / 4;
}

/*
 * Is the ring half full, and traced by several users? Then the other half is kept for dispatches:
 * threads that they wait for are not accounted to a user.
 */
static __always_inline bool record__is_half_full(void)
{
	return jank_share_user_cnt > 1 &&
	       bpf_ringbuf_query(&jank_ring, BPF_RB_AVAIL_DATA) >
		       bpf_ringbuf_query(&jank_ring, BPF_RB_RING_SIZE) / 2;
}

/*
 * Sends a stack record. It is dropped when the ring is three quarters full, because the rest is
 * reserved for blocks. The reader is woken only when the ring is a quarter full.
 */
static __always_inline int record__send_stack(struct jank_stack_buf *buf, __u32 size)
{
	__u64 used = bpf_ringbuf_query(&jank_ring, BPF_RB_AVAIL_DATA);
	__u64 room = bpf_ringbuf_query(&jank_ring, BPF_RB_RING_SIZE);
	__u64 flags = used > room / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;

	if (used > room - room / 4)
		goto shed;
	if (size > sizeof(*buf))
		goto shed;
	if (!bpf_ringbuf_output(&jank_ring, buf, size, flags))
		return 0;
shed:
	lost__add(JANK_LOST_SAMPLE_SHED);
	return -1;
}

/* The same for a thread without a dispatch. */
static __always_inline int record__send_other(struct jank_stack_buf *buf, __u32 size)
{
	if (!record__is_half_full())
		return record__send_stack(buf, size);
	lost__add(JANK_LOST_SAMPLE_SHED);
	return -1;
}

#endif
