/* SPDX-License-Identifier: GPL-2.0 */
#include "bpf/script.bpf.h"

#include "bpf/record.bpf.h"

static __always_inline struct jank_script *script__find(__u32 tgid, __u32 tid)
{
	struct jank_script *s = script__any() ? bpf_map_lookup_elem(&jank_scripts, &tid) : NULL;

	return s && s->where.tgid == tgid ? s : NULL;
}

/* Returns the entry of a thread with frames that belong in its stacks. */
static __always_inline struct jank_script *script__of(__u32 tgid, __u32 tid)
{
	struct jank_script *s = script__find(tgid, tid);

	return s && !s->where.places_only ? s : NULL;
}

static __always_inline __u64 script__word(const struct jank_script *s, __u32 word)
{
	return s->raw[word & 15];
}

/*
 * Records the frame at this address; returns its caller's address, or 0. Nearly branch-free: plain
 * probes have it in the loop, where the verifier would walk each path.
 */
WALKED_ONCE_BY_POINTER __u64 script__frame(struct jank_script *s, __u64 at)
{
	const struct jank_script_where *where;
	struct jank_script_frame *frame;
	__u64 other, marked, code, previous;
	__u32 cnt;

	if (!s)
		return 0;
	where = &s->where;
	cnt = s->rec.frame_cnt;
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
WALKED_ONCE_BY_POINTER __u32 script__check(struct jank_script *s, __u64 code)
{
	const struct jank_script_where *where;
	__u64 name, hash = 0;
	__u32 line;

	if (!s)
		return 0;
	where = &s->where;
	bpf_probe_read_user(s->raw, JANK_SCRIPT_CODE_SZ, (void *)(code + where->code_at));
	line = script__word(s, where->line_word) >> (where->line_shift & 63);
	name = script__word(s, where->name_word);
	bpf_probe_read_user(&hash, sizeof(hash), (void *)(name + where->hash_at));
	return line * JANK_SCRIPT_CHECK + (__u32)hash;
}

/*
 * Computes the check of a code object that changed its position since the last time; most did not.
 * If a check belongs to an earlier object at the address, the frame has no name rather than a wrong
 * one.
 */
WALKED_ONCE_BY_POINTER int script__check_at(struct jank_script *s, __u32 i)
{
	struct jank_script_frame *frame;

	if (!s || i >= JANK_SCRIPT_MAX)
		return 0;
	frame = &s->frames[i];
	if (frame->code == s->checked[i])
		return 0;
	s->checked[i] = frame->code;
	frame->check = script__check(s, frame->code);
	return 0;
}

static __always_inline void script__check_all(struct jank_script *s)
{
	for (__u32 i = 0; i < JANK_SCRIPT_MAX; i++) {
		if (i >= s->rec.frame_cnt)
			break;
		script__check_at(s, i);
	}
}

/* Reads the frames of a thread with an entry. Global, so that the verifier walks it once. */
__noinline int script__walk(__u32 tid)
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

static __noinline int script_place__walk(struct jank_script *s);

__noinline int script__take_own(__u64 dispatch_ns, __u64 t_ns)
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
	if (s->where.frame_sz)
		script_place__walk(s);
	else
		script__walk(pids__tid(task));
	*(volatile __u64 *)&s->busy = 0;
	return 0;
}

__noinline int script__send_of(__u32 tgid, __u32 tid, __u64 t_ns, __u64 now)
{
	struct jank_script *s = script__of(tgid, tid);

	if (s && s->rec.t_ns == t_ns)
		script__output(s, now);
	return 0;
}

/* --- the place where a thread waits */

/* Of an execution context: its stack, the number of words in it, and its innermost frame. */
#define SCRIPT_WORDS_SZ 24
/* Of a Ruby frame: pc, sp, iseq, self, ep; at ep its flags (vm_core.h). */
#define RUBY_FRAME_SZ	  40
#define RUBY_FINISH_SHIFT 5 /* of VM_FRAME_FLAG_FINISH: vm_exec was entered for this frame */
/* Maximum distance of the execution context from the begin of a fiber, in bytes. */
#define SCRIPT_FIBER_SZ 1024

#define SCRIPT_PRIME 0x100000001b3 /* prime of FNV-1a */

/* Records the Ruby frame at this address; returns the next outer frame's address, or 0. */
WALKED_ONCE_BY_POINTER __u64 script_place__frame(struct jank_script *s, __u64 at, __u64 end)
{
	struct jank_script_frame *frame;
	__u64 flags = 0;
	__u32 cnt;

	if (!s)
		return 0;
	cnt = s->rec.frame_cnt;
	if (cnt >= JANK_SCRIPT_MAX || at >= end ||
	    bpf_probe_read_user(s->raw, RUBY_FRAME_SZ, (void *)at))
		return 0;
	bpf_probe_read_user(&flags, sizeof(flags), (void *)s->raw[4]);
	barrier_var(cnt);				 /* before 5.11 the verifier forgets the */
	frame = &s->frames[cnt & (JANK_SCRIPT_MAX - 1)]; /* bound of what the compiler spills */
	frame->instr = s->raw[0];
	frame->code = s->raw[2];
	frame->flags = flags >> RUBY_FINISH_SHIFT & JANK_SCRIPT_ENTRY;
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

__noinline int script_place__identity(__u32 tgid, __u32 tid)
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

__noinline int script_place__send(__u64 dispatch_ns, __u64 now)
{
	struct task_struct *task = KERNEL_CURRENT();
	struct jank_script *s = script__find(pids__tgid(task), pids__tid(task));

	if (!s || !s->rec.identity)
		return 0;
	record__head(&s->rec.hdr, JANK_REC_SCRIPT, 0, now, task);
	s->rec.hdr.flags = JANK_SCRIPT_WAIT;
	s->rec.dispatch_ns = dispatch_ns;
	s->rec.t_ns = now;
	script__output(s, now);
	return 0;
}
