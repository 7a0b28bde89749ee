/* SPDX-License-Identifier: GPL-2.0 */
#include "bpf/copy_user_stack.bpf.h"

#include "bpf/compat.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/slot.bpf.h"

#define COPY_HOLE_MAX	   3
#define COPY_HOLE_MAX_DEEP 12 /* for a copy of more than the standard size */

/*
 * Copies page by page: an untouched page of a large array may lie in between. Some such pages are
 * skipped, each at the cost of a page fault. The counts are kept in the record: local variables
 * would be a new state for the verifier in each iteration.
 */
static __always_inline void copy_user_stack__pages(struct jank_rec_copy *rec, __u8 *bytes, __u64 sp,
						   __u32 max)
{
	volatile __u32 *got = &rec->copy_sz, *hole_cnt = &rec->pad;
	__u32 hole_max = max > JANK_COPY_SZ + JANK_COPY_PAGE ? COPY_HOLE_MAX_DEEP : COPY_HOLE_MAX;

	*got = 0;
	*hole_cnt = 0;
	rec->hole_mask = 0;
	for (__u32 i = 0; i <= max / JANK_COPY_PAGE; i++) {
		__u64 at = *got, part = JANK_COPY_PAGE - ((sp + at) & (JANK_COPY_PAGE - 1));
		__u64 left = rec->asked_sz - at;

		barrier_var(at);
		if (at >= rec->asked_sz || at > max - JANK_COPY_PAGE || *hole_cnt > hole_max)
			break;
		if (part > left)
			part = left;
		barrier_var(part);
		if (part > JANK_COPY_PAGE)
			break;
		if (bpf_probe_read_user(bytes + at, part, (void *)(sp + at))) {
			rec->hdr.flags |= JANK_COPY_HOLE;
			rec->hole_mask |= 1u << i;
			++*hole_cnt;
		}
		*got = at + part;
	}
	*hole_cnt = 0;
}

/*
 * Memory above the stack is not copied: it is useless, and a missing page there costs a
 * microsecond.
 */
static __always_inline void copy_user_stack__fill(struct jank_rec_copy *rec,
						  struct task_struct *task, u64 dispatch_ns,
						  u64 t_ns, __u32 asked_sz)
{
	struct pt_regs *regs = compat__user_regs(task);
	u64 sp = compat__user_sp(regs), sz = compat__stack_end(task, sp) - sp;

	record__head(&rec->hdr, JANK_REC_COPY, 0, t_ns, task);
	if (compat__is_32bit(regs))
		rec->hdr.flags = JANK_COPY_32BIT;
	if (sz < asked_sz)
		rec->hdr.flags |= JANK_COPY_WHOLE;
	rec->asked_sz = sz < asked_sz ? sz : asked_sz;
	rec->dispatch_ns = dispatch_ns;
	rec->t_ns = t_ns;
	compat__all_regs(rec->regs, regs);
#ifdef __TARGET_ARCH_x86
	bpf_probe_read_user(rec->red_zone, sizeof(rec->red_zone),
			    (void *)(sp - sizeof(rec->red_zone)));
#endif
}

/* Dropped earlier than samples: a sample without callers is better than none. */
static __always_inline int copy_user_stack__output(struct jank_rec_copy *rec, __u32 max)
{
	__u64 room = bpf_ringbuf_query(&jank_ring, BPF_RB_RING_SIZE);
	__u64 used = bpf_ringbuf_query(&jank_ring, BPF_RB_AVAIL_DATA);
	__u64 size = *(volatile __u32 *)&rec->copy_sz;

	barrier_var(size);
	if (size > max || used > room / 2)
		return -1;
	size += sizeof(*rec);
	rec->hdr.size = size;
	return bpf_ringbuf_output(&jank_ring, rec, size,
				  used > room / 4 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* A slot is its count of writes (slot__lock), the record, and the bytes of the stack. */
static __always_inline struct jank_rec_copy *copy_user_stack__in(__u64 *slot)
{
	return (struct jank_rec_copy *)(slot + 1);
}

/* Fills a slot of either table: its count of writes, the record, and a buffer of max bytes. */
static __always_inline int copy_user_stack__take_into(__u64 *slot, struct task_struct *task,
						      u64 dispatch_ns, u64 t_ns, __u32 asked_sz,
						      __u32 max)
{
	struct jank_rec_copy *rec = copy_user_stack__in(slot);

	if (!slot__lock(slot))
		return -1;
	copy_user_stack__fill(rec, task, dispatch_ns, t_ns, asked_sz);
	copy_user_stack__pages(rec, (__u8 *)(rec + 1), compat__user_sp(compat__user_regs(task)),
			       max);
	slot__unlock(slot);
	return 0;
}

static __always_inline __u64 *copy_user_stack__at(void *map, __u32 cnt, __u32 at)
{
	at &= cnt - 1;
	return bpf_map_lookup_elem(map, &at);
}

#define COPY_FIRST(map, cnt, tid)  copy_user_stack__at(&map, cnt, tid)
#define COPY_SECOND(map, cnt, tid) copy_user_stack__at(&map, cnt, JANK_SECOND_PLACE(tid, cnt))

/* Sends the copy taken at t_ns if the slot has it. */
static __always_inline int copy_user_stack__send_from(__u64 *slot, __u32 tid, u64 t_ns, __u32 max)
{
	struct jank_rec_copy *rec = copy_user_stack__in(slot);
	int err = -1;

	if (!slot || rec->hdr.tid != tid || rec->t_ns != t_ns || !slot__lock(slot))
		return err;
	if (rec->hdr.tid == tid && rec->t_ns == t_ns)
		err = copy_user_stack__output(rec, max);
	slot__unlock(slot);
	return err;
}

static __always_inline int copy_user_stack__send_either(__u64 *first, __u64 *second, __u32 tid,
							u64 t_ns, __u32 max)
{
	return copy_user_stack__send_from(first, tid, t_ns, max)
		       ? copy_user_stack__send_from(second, tid, t_ns, max)
		       : 0;
}

#define COPY_SEND(map, cnt, tid, t_ns, max)                                                        \
	copy_user_stack__send_either(COPY_FIRST(map, cnt, tid), COPY_SECOND(map, cnt, tid), tid,   \
				     t_ns, max)

/* Returns the bytes to copy; processes with deeper stacks have a larger size. */
static __always_inline __u32 copy_user_stack__asked(__u32 tgid)
{
	__u32 zero = 0, *deep_cnt = bpf_map_lookup_elem(&jank_copy_deep, &zero);
	__u32 *sz = deep_cnt && *deep_cnt ? bpf_map_lookup_elem(&jank_copy_szs, &tgid) : NULL;

	return sz ? *sz : jank_conf.copy_sz;
}

/*
 * Chooses where the thread's next copy goes: the slot that it has, an empty one, else the one with
 * the younger copy, because the older one may belong to a wait that still goes on.
 */
static __always_inline __u64 *copy_user_stack__choose(__u64 *first, __u64 *second, __u32 tid)
{
	const struct jank_rec_copy *one, *two;

	if (!first || !second)
		return NULL;
	one = copy_user_stack__in(first);
	if (one->hdr.tid == tid || !one->hdr.tid)
		return first;
	two = copy_user_stack__in(second);
	return two->hdr.tid == tid || !two->hdr.tid || two->t_ns > one->t_ns ? second : first;
}

#define COPY_SLOT(map, cnt, tid)                                                                   \
	copy_user_stack__choose(COPY_FIRST(map, cnt, tid), COPY_SECOND(map, cnt, tid), tid)

WALKED_ONCE int copy_user_stack__take(u64 dispatch_ns, u64 t_ns)
{
	struct task_struct *task = KERNEL_CURRENT();
	__u32 tid = pids__tid(task), asked_sz = copy_user_stack__asked(pids__tgid(task));
	__u64 *slot;

	if (jank_reduced & JANK_REDUCE_COPIES)
		return -1;
	if (asked_sz <= JANK_COPY_SZ) {
		slot = COPY_SLOT(jank_copies, JANK_COPY_CNT, tid);
		return slot ? copy_user_stack__take_into(slot, task, dispatch_ns, t_ns, asked_sz,
							 JANK_COPY_SZ + JANK_COPY_PAGE)
			    : -1;
	}
	slot = COPY_SLOT(jank_deep_copies, JANK_COPY_DEEP_CNT, tid);
	return slot ? copy_user_stack__take_into(slot, task, dispatch_ns, t_ns, asked_sz,
						 JANK_COPY_MAX + JANK_COPY_PAGE)
		    : -1;
}

WALKED_ONCE int copy_user_stack__send(__u32 tid, u64 t_ns)
{
	int err = COPY_SEND(jank_copies, JANK_COPY_CNT, tid, t_ns, JANK_COPY_SZ);

	if (err)
		err = COPY_SEND(jank_deep_copies, JANK_COPY_DEEP_CNT, tid, t_ns, JANK_COPY_MAX);
	if (err && !(jank_reduced & JANK_REDUCE_COPIES))
		lost__add(JANK_LOST_COPY);
	return err;
}

static __always_inline void copy_user_stack__empty(__u64 *slot, __u32 tid)
{
	struct jank_rec_copy *rec = copy_user_stack__in(slot);

	if (slot && rec->hdr.tid == tid)
		rec->hdr.tid = 0;
}

WALKED_ONCE int copy_user_stack__release(__u32 tid)
{
	__u32 zero = 0, *deep_cnt = bpf_map_lookup_elem(&jank_copy_deep, &zero);

	copy_user_stack__empty(COPY_FIRST(jank_copies, JANK_COPY_CNT, tid), tid);
	copy_user_stack__empty(COPY_SECOND(jank_copies, JANK_COPY_CNT, tid), tid);
	if (!deep_cnt || !*deep_cnt)
		return 0;
	copy_user_stack__empty(COPY_FIRST(jank_deep_copies, JANK_COPY_DEEP_CNT, tid), tid);
	copy_user_stack__empty(COPY_SECOND(jank_deep_copies, JANK_COPY_DEEP_CNT, tid), tid);
	return 0;
}

WALKED_ONCE int copy_user_stack__send_wait(u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	__u32 tid = pids__tid(task);
	__u64 *slot = COPY_SLOT(jank_copies, JANK_COPY_CNT, tid);
	struct jank_rec_copy *rec = copy_user_stack__in(slot);
	int err = -1;

	if (slot && slot__lock(slot)) {
		copy_user_stack__fill(rec, task, 0, now, JANK_COPY_SZ);
		rec->hdr.flags |= JANK_COPY_WAIT;
		copy_user_stack__pages(rec, (__u8 *)(rec + 1),
				       compat__user_sp(compat__user_regs(task)),
				       JANK_COPY_SZ + JANK_COPY_PAGE);
		err = copy_user_stack__output(rec, JANK_COPY_SZ);
		rec->hdr.tid = 0;
		slot__unlock(slot);
	}
	if (err)
		lost__add(JANK_LOST_COPY);
	return err;
}

WALKED_ONCE int copy_user_stack__take_other(u64 t_ns)
{
	struct task_struct *task = KERNEL_CURRENT();
	__u64 *slot = COPY_FIRST(jank_other_copies, JANK_COPY_OTHER_CNT, pids__tid(task));

	return slot ? copy_user_stack__take_into(slot, task, 0, t_ns, JANK_COPY_SZ,
						 JANK_COPY_SZ + JANK_COPY_PAGE)
		    : -1;
}

WALKED_ONCE int copy_user_stack__send_other(__u32 tid, u64 t_ns)
{
	__u64 *slot = COPY_FIRST(jank_other_copies, JANK_COPY_OTHER_CNT, tid);

	return copy_user_stack__send_from(slot, tid, t_ns, JANK_COPY_SZ);
}
