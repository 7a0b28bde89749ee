/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Identity of the place where an interpreter's thread waits: one number for all its frames. Waits
 * at different places in the program have different numbers, even if all their callers in C are the
 * same. The frames are read as in script.bpf.h.
 */
#ifndef JANK_SCRIPT_PLACE_BPF_H
#define JANK_SCRIPT_PLACE_BPF_H

#include "bpf/script.bpf.h"

/*
 * Three words. Of a Ruby frame: pc, sp, iseq. Of an execution context: its stack, the number of
 * words in it, and its innermost frame.
 */
#define SCRIPT_WORDS_SZ 24
/* Maximum distance of the execution context from the begin of a fiber, in bytes. */
#define SCRIPT_FIBER_SZ 1024

#define SCRIPT_PRIME 0x100000001b3 /* prime of FNV-1a */

/* Records the Ruby frame at this address; returns the next outer frame's address, or 0. */
static __always_inline __u64 script_place__frame(struct jank_script *s, __u64 at, __u64 end)
{
	__u32 cnt = s->rec.frame_cnt;
	struct jank_script_frame *frame;

	if (cnt >= JANK_SCRIPT_MAX || at >= end ||
	    bpf_probe_read_user(s->raw, SCRIPT_WORDS_SZ, (void *)at))
		return 0;
	barrier_var(cnt);				 /* before 5.11 the verifier forgets the */
	frame = &s->frames[cnt & (JANK_SCRIPT_MAX - 1)]; /* bound of what the compiler spills */
	frame->instr = s->raw[0];
	frame->code = s->raw[2];
	frame->flags = 0;
	frame->check = 0;
	s->rec.frame_cnt = cnt + 1;
	return at + s->where.frame_sz;
}

/*
 * Walks Ruby's frames. Each fiber has frames of its own, which do not show the depth outside of it.
 */
static __noinline int script_place__walk(struct jank_script *s)
{
	const struct jank_script_where *where = &s->where;
	__u64 at, end;

	s->rec.frame_cnt = 0;
	if (bpf_probe_read_user(&at, sizeof(at), (void *)(where->tstate + where->native_at)) ||
	    at != where->native_id ||
	    bpf_probe_read_user(&at, sizeof(at), (void *)(where->tstate + where->frame_at)) ||
	    at - where->root >= SCRIPT_FIBER_SZ ||
	    bpf_probe_read_user(s->raw, SCRIPT_WORDS_SZ, (void *)at))
		return 0;
	end = s->raw[0] + s->raw[1] * sizeof(__u64);
	at = s->raw[2];
	for (int i = 0; i < JANK_SCRIPT_MAX; i++) {
		if (!at)
			break;
		at = script_place__frame(s, at, end);
	}
	return 0;
}

static __noinline int script_place__hash(const struct jank_script *s)
{
	__u64 hash = s->rec.frame_cnt;

	for (__u32 i = 0; i < JANK_SCRIPT_MAX; i++) {
		if (i >= s->rec.frame_cnt)
			break;
		hash = (hash ^ s->frames[i].code) * SCRIPT_PRIME;
		hash = (hash ^ s->frames[i].instr) * SCRIPT_PRIME;
	}
	return hash ^ hash >> 32;
}

/* Returns the identity of the current task's frames, which stay in its entry. 0: it has none. */
__weak __noinline int script_place__identity(__u32 tgid, __u32 tid)
{
	struct jank_script *s = script__find(tgid, tid);

	if (!s || *(volatile __u64 *)&s->busy)
		return 0;
	*(volatile __u64 *)&s->busy = 1;
	if (s->where.frame_sz)
		script_place__walk(s);
	else
		script__walk(tid);
	s->rec.identity = s->rec.frame_cnt ? script_place__hash(s) : 0;
	*(volatile __u64 *)&s->busy = 0;
	return s->rec.identity;
}

/* Sends the frames that identify the current task's wait; its WAIT record must follow. */
static __always_inline void script_place__send(struct task_struct *task, __u64 now)
{
	struct jank_script *s = script__find(pids__tgid(task), pids__tid(task));

	if (!s || !s->rec.identity)
		return;
	record__head(&s->rec.hdr, JANK_REC_SCRIPT, 0, now, task);
	s->rec.hdr.flags = JANK_SCRIPT_WAIT;
	s->rec.dispatch_ns = 0;
	s->rec.t_ns = now;
	script__output(s, now);
}

#endif
