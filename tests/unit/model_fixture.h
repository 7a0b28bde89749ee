/* SPDX-License-Identifier: GPL-2.0 */
/* Records in the format of the probes, for the tests of decoding, loops and the judge. */
#ifndef JANK_MODEL_FIXTURE_H
#define JANK_MODEL_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "bpf/jank_abi.h"
#include "intake/records.h"
#include "model/loop.h"

#define MS 1000000ull

/* A stack record with room for the longest tail, priorities included; hdr.size is the used part. */
struct fixture_stack {
	struct jank_rec_stack rec;
	char tail[(JANK_KSTACK_MAX + JANK_USTACK_MAX) * 8 +
		  JANK_SLICE_MAX * (sizeof(struct jank_task) + sizeof(__u16))];
};

static inline struct jank_rec fixture__hdr(uint16_t kind, uint32_t size, uint32_t tid)
{
	return (struct jank_rec){
		.size = size, .kind = kind, .ts_ns = 1, .tgid = tid / 10 * 10, .tid = tid
	};
}

/* A dispatch that ran all the time. Threads 10 to 19 belong to process 10, and so on. */
static inline struct jank_rec_block fixture__block(uint32_t tid, uint64_t start_ns, uint64_t ns)
{
	struct jank_rec_block rec = {
		.hdr = fixture__hdr(JANK_REC_BLOCK, sizeof(rec), tid),
		.start_ns = start_ns,
		.duration_ns = ns,
		.cpu_ns = ns,
		.loop = JANK_LOOP_EPOLL,
		.fd = 3,
		.comm = "worker",
	};

	rec.state_ns[JANK_STATE_RUNNING] = ns;
	return rec;
}

static inline struct jank_rec_block fixture__hang(uint32_t tid, uint64_t start_ns, uint64_t ns)
{
	struct jank_rec_block rec = fixture__block(tid, start_ns, ns);

	rec.hdr.kind = JANK_REC_HANG;
	rec.end = JANK_END_OPEN;
	return rec;
}

/* Moves time of the dispatch from running to another state. */
static inline void fixture__spend(struct jank_rec_block *rec, uint32_t state, uint64_t ns)
{
	rec->state_ns[JANK_STATE_RUNNING] -= ns;
	rec->state_ns[state] += ns;
}

/* A span off the CPU (or a tick, when ns is 0) with two kernel and three user addresses. */
static inline struct fixture_stack fixture__stack(uint32_t tid, uint64_t dispatch_ns, uint64_t t_ns,
						  uint64_t ns)
{
	static const uint64_t addresses[] = { 0xffffffff81000000, 0xffffffff81000100, 0x401000,
					      0x402000, 0x403000 };
	struct fixture_stack ret = {
		.rec = {
			.hdr = fixture__hdr(JANK_REC_STACK,
					    sizeof(struct jank_rec_stack) + sizeof(addresses), tid),
			.dispatch_ns = dispatch_ns,
			.t_ns = t_ns,
			.ns = ns,
			.state = ns ? JANK_STATE_SLEEP : JANK_STATE_RUNNING,
			.syscall = ns ? SYS_nanosleep : -1,
			.kernel_cnt = 2,
			.user_cnt = 3,
		},
	};

	memcpy(ret.tail, addresses, sizeof(addresses));
	return ret;
}

/* Appends another task's slice after the addresses and the earlier slices. */
static inline void fixture__slice(struct fixture_stack *stack, uint32_t tid, uint64_t ns)
{
	struct jank_task task = { .ns = ns, .tgid = tid, .tid = tid, .comm = "other" };

	memcpy((char *)stack + stack->rec.hdr.size, &task, sizeof(task));
	stack->rec.slice_cnt++;
	stack->rec.hdr.size += sizeof(task);
}

/*
 * A span of a thread without a dispatch: off the CPU in this state (a tick when ns is 0); sent at
 * its end.
 */
static inline struct fixture_stack fixture__other(uint32_t tid, uint64_t t_ns, uint64_t ns,
						  uint32_t state)
{
	struct fixture_stack ret = fixture__stack(tid, 0, t_ns, ns);

	ret.rec.hdr.kind = JANK_REC_OTHER;
	ret.rec.hdr.ts_ns = t_ns + ns;
	ret.rec.state = state;
	return ret;
}

/* Its waker: "other", the thread with this number. */
static inline void fixture__woken_by(struct fixture_stack *stack, uint32_t tid)
{
	stack->rec.hdr.flags |= JANK_STACK_WAKER;
	stack->rec.waker = (struct jank_task){ .tgid = tid / 10 * 10, .tid = tid, .comm = "other" };
}

/* A thread wakes another at that time, in this system call. */
static inline struct fixture_stack fixture__wakes(uint32_t tid, uint32_t wakee, uint64_t t_ns,
						  int32_t syscall)
{
	struct fixture_stack ret = fixture__other(tid, t_ns, 0, JANK_STATE_RUNNING);

	fixture__woken_by(&ret, wakee);
	ret.rec.hdr.flags = JANK_STACK_WAKES;
	ret.rec.syscall = syscall;
	return ret;
}

/* Appends the slices' priorities, after all slices. */
static inline void fixture__prios(struct fixture_stack *stack, const uint16_t *prios)
{
	size_t len = stack->rec.slice_cnt * sizeof(*prios), padded = (len + 7) & ~(size_t)7;
	char *to = (char *)stack + stack->rec.hdr.size;

	memset(to, 0, padded);
	memcpy(to, prios, len);
	stack->rec.hdr.size += padded;
	stack->rec.hdr.flags |= JANK_STACK_PRIOS;
}

/* The object of the wait that began at t_ns: a mutex with this owner. */
static inline struct jank_rec_waited fixture__waited(uint32_t tid, uint64_t dispatch_ns,
						     uint64_t t_ns, uint32_t owner)
{
	struct jank_rec_waited rec = {
		.hdr = fixture__hdr(JANK_REC_WAITED, sizeof(rec), tid),
		.dispatch_ns = dispatch_ns,
		.t_ns = t_ns,
		.futex_word = 2,
		.owner = owner,
		.comm = "worker",
	};

	rec.hdr.flags = JANK_WAITED_FUTEX;
	return rec;
}

static inline struct jank_rec_facts fixture__facts(uint32_t tid, uint64_t dispatch_ns,
						   uint64_t throttled_ns)
{
	return (struct jank_rec_facts){
		.hdr = fixture__hdr(JANK_REC_FACTS, sizeof(struct jank_rec_facts), tid),
		.dispatch_ns = dispatch_ns,
		.throttled_ns = throttled_ns,
		.stolen_ns = 2,
		.maj_flt_cnt = 3,
		.min_flt_cnt = 4,
		.prio = 122,
		.policy = 1,
		.cpus_allowed = 2,
		.comm = "worker",
	};
}

/* The source of a dispatch: one ready descriptor, no mark. */
static inline struct jank_rec_message fixture__message(uint32_t tid, uint64_t dispatch_ns,
						       uint64_t data)
{
	return (struct jank_rec_message){
		.hdr = fixture__hdr(JANK_REC_MESSAGE, sizeof(struct jank_rec_message), tid),
		.dispatch_ns = dispatch_ns,
		.ready_got = 1,
		.ready_data = { data },
		.ready_events = { 1 },
		.comm = "worker",
	};
}

static inline struct jank_rec_thread fixture__thread(uint32_t tid, uint64_t dispatches,
						     uint64_t blocks)
{
	struct jank_rec_thread rec = {
		.hdr = fixture__hdr(JANK_REC_THREAD, sizeof(rec), tid),
		.dispatch_cnt = dispatches,
		.block_cnt = blocks,
		.loop = JANK_LOOP_EPOLL,
		.comm = "worker",
	};

	rec.dispatches.cnt[jank_hist__bucket(1 << 20, 20)] = dispatches;
	return rec;
}

/* A heap copy of exactly the record's size, so that the sanitizer sees every access beyond it. */
static inline void *fixture__exact(const void *rec, size_t len)
{
	void *ret = malloc(len ? len : 1);

	if (!ret)
		abort();
	memcpy(ret, rec, len);
	return ret;
}

/* Decodes the record and passes it to the loops, as the ring's reader does. */
static inline int fixture__feed(struct loops *loops, const void *rec, struct dispatch **ret)
{
	size_t len = ((const struct jank_rec *)rec)->size;
	void *exact = fixture__exact(rec, len);
	struct event event;
	int res = decode__record(exact, len, &event);

	*ret = NULL;
	if (!res)
		res = loops__event(loops, &event, ret);
	free(exact);
	return res;
}

#endif
