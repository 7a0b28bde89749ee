/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shares of the users in the ring and in the plain probes' table of threads. They are looked up
 * only when a thread gets its state, and when something slow is about to be sent while the ring is
 * more than a quarter full. A fast dispatch does not touch them.
 */
#ifndef JANK_SHARE_BPF_H
#define JANK_SHARE_BPF_H

#include "bpf/record.bpf.h"

/* Bytes of a typical sample or span, without the copy of the stack; of a block with its facts. */
#define SHARE_STACK_SZ 1024
#define SHARE_BLOCK_SZ 512

/* Finds or makes the user's account. Returns the account's key. */
static __noinline __u32 share__account(__u32 uid)
{
	struct jank_share empty = {};

	if (bpf_map_lookup_elem(&jank_shares, &uid))
		return uid;
	if (!bpf_map_update_elem(&jank_shares, &uid, &empty, BPF_NOEXIST)) {
		__sync_fetch_and_add(&jank_share_user_cnt, 1);
		return uid;
	}
	if (bpf_map_lookup_elem(&jank_shares, &uid)) /* made meanwhile on another CPU */
		return uid;
	uid = JANK_SHARE_OTHERS;
	bpf_map_update_elem(&jank_shares, &uid, &empty, BPF_NOEXIST);
	return uid;
}

/* The user of a task; known only if it is the current one. With one process there are no shares. */
static __always_inline __u32 share__of(struct task_struct *task)
{
	if (jank_conf.tgid)
		return JANK_SHARE_OTHERS;
	if ((__u32)bpf_get_current_pid_tgid() != (__u32)KREAD(task, pid))
		return share__account(JANK_SHARE_OTHERS);
	return share__account(bpf_get_current_uid_gid());
}

static __noinline int share__lose(struct jank_share *share, __u32 kind)
{
	barrier_var(kind); /* the verifier must see the comparison with what is used */
	if (kind < JANK_SHARE_CNT)
		__sync_fetch_and_add(&share->lost[kind], 1);
	lost__add(JANK_LOST_SHARE);
	return 1;
}

/*
 * May the user not send `size` bytes more? They are counted for it if it may. A user over its share
 * loses this: JANK_SHARE_*, or JANK_SHARE_CNT for what is tried again.
 */
static __noinline int share__check(__u32 uid, __u64 size, __u32 kind)
{
	__u64 used = bpf_ringbuf_query(&jank_ring, BPF_RB_AVAIL_DATA);
	__u64 room = bpf_ringbuf_query(&jank_ring, BPF_RB_RING_SIZE);
	struct jank_share *share;

	if (used <= room / 4)
		return 0;
	share = bpf_map_lookup_elem(&jank_shares, &uid);
	if (!share)
		return 0;
	jank_share__renew(share, bpf_ringbuf_query(&jank_ring, BPF_RB_CONS_POS),
			  bpf_ringbuf_query(&jank_ring, BPF_RB_PROD_POS));
	if (!jank_share__is_over(jank_share__held(share), jank_share__ring_free(used, room))) {
		if (kind == JANK_SHARE_STACK && used <= room / 2)
			size += JANK_COPY_SZ;
		__sync_fetch_and_add(&share->bytes, size);
		return 0;
	}
	return kind < JANK_SHARE_CNT ? share__lose(share, kind) : 1;
}

static __always_inline bool share__is_over(__u32 uid, __u64 size, __u32 kind)
{
	return !jank_conf.tgid && jank_share_user_cnt > 1 && share__check(uid, size, kind);
}

#ifdef JANK_PLAIN
/*
 * The table of threads cannot take back what it gave, so a quarter of it is kept even while there
 * is only one user. Returns false when the user is over its share.
 */
static __noinline int share__takes_thread(__u32 uid)
{
	__u64 cnt = jank_thread_cnt;
	struct jank_share *share = bpf_map_lookup_elem(&jank_shares, &uid);

	if (!share)
		return true;
	if (jank_share__is_over(share->thread_cnt,
				cnt < JANK_THREAD_MAX ? JANK_THREAD_MAX - cnt : 0))
		return !share__lose(share, JANK_SHARE_THREAD);
	__sync_fetch_and_add(&share->thread_cnt, 1);
	__sync_fetch_and_add(&jank_thread_cnt, 1);
	return true;
}

static __noinline int share__return_thread(__u32 uid)
{
	struct jank_share *share = bpf_map_lookup_elem(&jank_shares, &uid);

	if (!share)
		return 0;
	__sync_fetch_and_add(&share->thread_cnt, -1);
	__sync_fetch_and_add(&jank_thread_cnt, -1);
	return 0;
}
#endif

#endif
