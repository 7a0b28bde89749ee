/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of an interpreter. They lie in its heap and no longer exist when user space looks. They
 * are therefore read with the thread's stack: the code object and the instruction of each frame;
 * the names live longer. User space gives their location in this version of CPython for each thread
 * (jank_scripts). If any thread has such an entry, threads without one pay a lookup. Ruby's frames
 * are read only where a thread waits, for their identity.
 *
 * The thread's entry holds the buffer. A switch fills it; when a tick uses it, its content was
 * already sent when the thread returned.
 */
#ifndef JANK_SCRIPT_BPF_H
#define JANK_SCRIPT_BPF_H

#include "bpf/record.bpf.h"

static __always_inline bool script__any(void)
{
	__u32 zero = 0, *any = bpf_map_lookup_elem(&jank_script_any, &zero);

	return any && *any;
}

static __always_inline struct jank_script *script__find(__u32 tgid, __u32 tid)
{
	struct jank_script *s = script__any() ? bpf_map_lookup_elem(&jank_scripts, &tid) : NULL;

	return s && s->where.tgid == tgid ? s : NULL;
}

/* Returns the entry of a thread with frames that belong in its stacks. */
static __always_inline struct jank_script *script__of(__u32 tgid, __u32 tid)
{
	struct jank_script *s = script__find(tgid, tid);

	return s && !s->where.frame_sz ? s : NULL;
}

/* The thread's interpreter state no longer exists, or belongs to another thread from now on. */
static __always_inline void script__forget(__u32 tid)
{
	if (script__any())
		bpf_map_delete_elem(&jank_scripts, &tid);
}

static __always_inline __u64 script__word(const struct jank_script *s, __u32 word)
{
	return s->raw[word & 15];
}

/*
 * Records the frame at this address; returns its caller's address, or 0. Nearly branch-free: the
 * verifier would walk each path through the loop.
 */
static __always_inline __u64 script__frame(struct jank_script *s, __u64 at)
{
	const struct jank_script_where *where = &s->where;
	__u32 cnt = s->rec.frame_cnt;
	struct jank_script_frame *frame;
	__u64 other, marked, code, previous;

	if (cnt >= JANK_SCRIPT_MAX || bpf_probe_read_user(s->raw, JANK_SCRIPT_FRAME_SZ, (void *)at))
		return 0;
	other = (script__word(s, where->mark_at / 8) >> (where->mark_at % 8 * 8) & 0xff) ^
		where->mark;
	marked = (other - 1) >> 63;
	code = script__word(s, where->code_word);
	previous = script__word(s, where->previous_word);
	frame = &s->frames[cnt];
	frame->flags = marked;
	frame->code = code & ((marked & where->shim) - 1);
	frame->instr = script__word(s, where->instr_word);
	s->rec.frame_cnt = cnt + 1;
	return previous;
}

/* Checksum that tells a code object from a later one at the same address. */
static __always_inline __u32 script__check(struct jank_script *s, __u64 code)
{
	const struct jank_script_where *where = &s->where;
	__u64 name, hash = 0;
	__u32 line;

	bpf_probe_read_user(s->raw, JANK_SCRIPT_CODE_SZ, (void *)(code + where->code_at));
	line = script__word(s, where->line_word) >> (where->line_shift & 63);
	name = script__word(s, where->name_word);
	bpf_probe_read_user(&hash, sizeof(hash), (void *)(name + where->hash_at));
	return line * JANK_SCRIPT_CHECK + (__u32)hash;
}

/*
 * Computes the checks of code objects that changed their position since the last time; most did
 * not. If a check belongs to an earlier object at the address, the frame has no name rather than a
 * wrong one.
 */
static __always_inline void script__check_all(struct jank_script *s)
{
	for (__u32 i = 0; i < JANK_SCRIPT_MAX; i++) {
		struct jank_script_frame *frame = &s->frames[i];

		if (i >= s->rec.frame_cnt)
			break;
		if (frame->code == s->checked[i])
			continue;
		s->checked[i] = frame->code;
		frame->check = script__check(s, frame->code);
	}
}

/*
 * Reads the frames of a thread with an entry. A global function, which the verifier walks once for
 * all callers; hence no pointer arguments. So are all that are called from here on.
 */
__weak __noinline int script__walk(__u32 tid)
{
	struct jank_script *s = bpf_map_lookup_elem(&jank_scripts, &tid);
	const struct jank_script_where *where;
	__u64 at;

	if (!s)
		return 0;
	where = &s->where;
	s->rec.frame_cnt = 0;
	if (bpf_probe_read_user(&at, sizeof(at), (void *)(where->tstate + where->native_at)) ||
	    at != where->native_id ||
	    bpf_probe_read_user(&at, sizeof(at), (void *)(where->tstate + where->frame_at)))
		return 0;
	if (!where->direct && bpf_probe_read_user(&at, sizeof(at), (void *)(at + where->cframe_at)))
		return 0;
	for (int i = 0; i < JANK_SCRIPT_MAX; i++) {
		if (!at)
			break;
		at = script__frame(s, at);
	}
	script__check_all(s);
	return 0;
}

static __always_inline void script__output(struct jank_script *s, __u64 now)
{
	__u32 cnt;

	if (!s->rec.frame_cnt || record__is_crowded())
		return;
	/* Read after the calls: 5.10 forgets the limit of a number that is kept on the stack. */
	cnt = *(volatile __u32 *)&s->rec.frame_cnt;
	if (cnt > JANK_SCRIPT_MAX)
		return;
	s->rec.hdr.ts_ns = now;
	s->rec.hdr.size = sizeof(s->rec) + cnt * sizeof(s->frames[0]);
	bpf_ringbuf_output(&jank_ring, &s->rec, s->rec.hdr.size, BPF_RB_NO_WAKEUP);
}

__weak __noinline int script__take_own(__u64 dispatch_ns, __u64 t_ns)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_script *s = script__of(pids__tgid(task), pids__tid(task));

	if (!s || *(volatile __u64 *)&s->busy)
		return 0;
	*(volatile __u64 *)&s->busy = 1;
	record__head(&s->rec.hdr, JANK_REC_SCRIPT, 0, t_ns, task);
	s->rec.dispatch_ns = dispatch_ns;
	s->rec.t_ns = t_ns;
	s->rec.identity = 0;
	script__walk(pids__tid(task));
	*(volatile __u64 *)&s->busy = 0;
	return 0;
}

/*
 * Reads the frames of the current task, to be sent later or never. A tick that interrupts a switch
 * in this function (by a non-maskable interrupt) skips them.
 */
static __always_inline void script__take(__u64 dispatch_ns, __u64 t_ns)
{
	if (script__any())
		script__take_own(dispatch_ns, t_ns);
}

__weak __noinline int script__send_of(__u32 tgid, __u32 tid, __u64 t_ns, __u64 now)
{
	struct jank_script *s = script__of(tgid, tid);

	if (s && s->rec.t_ns == t_ns)
		script__output(s, now);
	return 0;
}

/* Sends the frames taken at t_ns, of any task. They are dropped together with their stack. */
static __always_inline void script__send_taken(struct task_struct *task, __u64 t_ns, __u64 now)
{
	if (script__any())
		script__send_of(pids__tgid(task), pids__tid(task), t_ns, now);
}

/* Takes and sends the current task's frames, with its stack. */
static __always_inline void script__send(struct task_struct *task, __u64 dispatch_ns, __u64 t_ns)
{
	script__take(dispatch_ns, t_ns);
	script__send_taken(task, t_ns, t_ns);
}

#endif
