/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a thread waits in the terms of its interpreter: one number of all its frames, which waits
 * of different places in the program do not share, though all their callers in C may be the same.
 * Frames are read as script.bpf.h has them.
 */
#ifndef JANK_SCRIPT_PLACE_BPF_H
#define JANK_SCRIPT_PLACE_BPF_H

#include "bpf/script.bpf.h"

/*
 * Three words: of a Ruby frame pc, sp, iseq; of an execution context its stack, how many words that
 * has, and its innermost frame.
 */
#define SCRIPT_WORDS_SZ 24
/* So far from a fiber's begin its execution context lies, at most. */
#define SCRIPT_FIBER_SZ 1024

#define SCRIPT_PRIME 0x100000001b3 /* FNV-1a's */

/* Notes the Ruby frame at this address; returns the next one's, further out, or 0. */
static __always_inline __u64 script_place__frame(struct jank_script *s, __u64 at, __u64 end)
{
	__u32 cnt = s->rec.frame_cnt;
	struct jank_script_frame *frame;

	if (cnt >= JANK_SCRIPT_MAX || at >= end ||
	    bpf_probe_read_user(s->raw, SCRIPT_WORDS_SZ, (void *)at))
		return 0;
	frame = &s->frames[cnt];
	frame->instr = s->raw[0];
	frame->code = s->raw[2];
	frame->flags = 0;
	frame->check = 0;
	s->rec.frame_cnt = cnt + 1;
	return at + s->where.frame_sz;
}

/* Ruby's. A fiber's frames begin anew: how far out a place in it is, they do not tell. */
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

/* Of the current task, whose frames stay in its entry. 0: it has none. */
__weak __noinline int script_place__identity(__u32 tgid, __u32 tid)
{
	struct jank_script *s = script__find(tgid, tid);

	if (!s || *(volatile __u64 *)&s->busy)
		return 0;
	*(volatile __u64 *)&s->busy = 1;
	if (s->where.frame_sz)
		script_place__walk(s);
	else
		script__walk(s);
	s->rec.identity = s->rec.frame_cnt ? script_place__hash(s) : 0;
	*(volatile __u64 *)&s->busy = 0;
	return s->rec.identity;
}

/*
 * Sends the frames by which the current task's wait was identified; its WAIT record is to follow.
 */
static __always_inline void script_place__send(struct task_struct *task, __u64 now)
{
	struct jank_script *s = script__find(KREAD(task, tgid), KREAD(task, pid));

	if (!s || !s->rec.identity)
		return;
	record__head(&s->rec.hdr, JANK_REC_SCRIPT, 0, now, task);
	s->rec.hdr.flags = JANK_SCRIPT_WAIT;
	s->rec.dispatch_ns = 0;
	s->rec.t_ns = now;
	script__output(s, now);
}

#endif
