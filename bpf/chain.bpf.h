/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Callers of a thread's wait. They show whether the thread waits for its next work or on behalf of
 * a handler. Only user space can decide this. It is asked once for each chain of callers and
 * answers with its return addresses (jank_parks).
 */
#ifndef JANK_CHAIN_BPF_H
#define JANK_CHAIN_BPF_H

#include "bpf/copy_user_stack.bpf.h"
#include "bpf/script.bpf.h"
#include "bpf/thread.bpf.h"

/*
 * A thread asks at most CHAIN_ASKS times in CHAIN_ASKS_NS, and only once for one place. With -a
 * this time doubles whenever the limit is reached, and all threads together have a limit: a
 * question copies a stack, and unwinding it takes about 0.1 ms.
 */
#define CHAIN_ASKS     4
#define CHAIN_ASKS_NS  32000000
#define CHAIN_BACKOFF  7 /* doublings: up to 4 s */
#define CHAIN_ALL_ASKS 8
#define CHAIN_ALL_NS   62500000

/* All CPUs share the two counters without a lock: a few questions more or less do not matter. */
static __always_inline bool chain__all_may_ask(u64 now)
{
	if (now - jank_asks_ns >= CHAIN_ALL_NS) {
		jank_asks_ns = now;
		jank_asks_cnt = 0;
	}
	return jank_asks_cnt++ < CHAIN_ALL_ASKS;
}

static __always_inline bool chain__same_place(const struct jank_park_place *a,
					      const struct jank_park_place *b)
{
	return a->sp == b->sp && a->arg0 == b->arg0 && a->nr == b->nr && a->script == b->script;
}

/*
 * Other threads than the main one are no loops by their parks. But a worker whose task polls looks
 * like a loop that polls: its rest tells. Is the thread's wait compared with its loop's?
 */
static __always_inline bool chain__compares(const struct jank_thread *t)
{
	return t->loop == JANK_LOOP_POLL && !t->trial && t->parks & JANK_PARKS_COMPARED;
}

/* Is a wait with this answer a park? */
static __always_inline bool chain__is_park(const struct jank_thread *t, __u32 verdict)
{
	return verdict == JANK_PARK_YES || verdict == JANK_PARK_LEFT ||
	       (verdict == JANK_PARK_IDLE && t->ready_cnt <= 0);
}

/*
 * Has user space found, since the thread left the CPU, that it parked? verdict: of the place where
 * it slept, until it leaves the CPU again.
 */
static __noinline __attribute__((unused)) int chain__was_park(struct jank_thread *t)
{
	struct jank_park_place place = t->park;
	__u32 *verdict;

	if (t->park_left_ns != t->span.rec.t_ns)
		return false;
	verdict = bpf_map_lookup_elem(&jank_parks, &place);
	return verdict && chain__is_park(t, *verdict) ? *verdict : 0;
}

/* May the thread ask about t->park now? */
static __always_inline bool chain__may_ask(struct jank_thread *t, u64 now)
{
	if (now >= t->park_ask_ns) {
		if ((jank_conf.all || chain__compares(t)) && t->park_ask_cnt >= CHAIN_ASKS &&
		    t->ask_backoff < CHAIN_BACKOFF)
			t->ask_backoff++;
		t->park_ask_ns = now + (CHAIN_ASKS_NS << (t->ask_backoff & CHAIN_BACKOFF));
		t->park_ask_cnt = 0;
	} else if (t->park_ask_cnt >= CHAIN_ASKS || chain__same_place(&t->park, &t->asked)) {
		return false;
	}
	if (jank_conf.all && !chain__all_may_ask(now))
		return false;
	t->park_ask_cnt++;
	t->asked = t->park;
	return true;
}

/* Returns JANK_PARKS_* of the thread; looked up again when user space has changed its answers. */
static __always_inline __u32 chain__kinds(struct jank_thread *t, struct task_struct *task)
{
	__u32 gen = thread__park_gen(), tgid = pids__tgid(task);
	struct jank_parks *parks;

	if (t->park_gen != gen) {
		parks = bpf_map_lookup_elem(&jank_parkers, &tgid);
		t->parks = parks ? filter__parks(parks->kinds, task) : 0;
		t->park_gen = gen;
	}
	return t->parks;
}

/* Asks user space, with a copy of the stack, as the thread falls asleep. */
static __always_inline void chain__ask(struct jank_thread *t, struct task_struct *task, u64 now)
{
	struct jank_rec_wait rec = {};

	if (!chain__may_ask(t, now))
		return;
	copy_user_stack__send_wait(now);
	if (t->park.script)
		script_place__send(t->start_ns, now);
	record__head(&rec.hdr, JANK_REC_WAIT, sizeof(rec), now, task);
	rec.sp = t->park.sp;
	rec.ip = compat__user_ip(compat__user_regs(task));
	rec.syscall = t->park.nr;
	rec.fd_cnt = t->park_cnt;
	rec.loop = JANK_LOOP_PARK;
	rec.hdr.flags = chain__compares(t) ? JANK_WAIT_COMPARE : 0;
	record__comm(rec.comm, task);
	record__send(&rec, sizeof(rec));
}

/*
 * Matches the current task's stack. A matching word is a return address because the previous one
 * was.
 */
WALKED_ONCE_BY_POINTER int chain__fits(const struct jank_park_chain *chain, u64 sp)
{
	u64 word;

	if (!chain)
		return false;
	for (int i = 0; i < JANK_PARK_WORD_MAX; i++) {
		if (i >= chain->word_cnt)
			break;
		if (bpf_probe_read_user(&word, sizeof(word), (void *)(sp + chain->offset[i])) ||
		    compat__strip(word) != chain->word[i])
			return false;
	}
	return true;
}

/*
 * Returns JANK_PARK_* for the current task's stack and its interpreter's frames (0: none); 0: no
 * known chain matches.
 */
WALKED_ONCE int chain__verdict(__u32 tgid, u64 sp, u64 ip, __u32 script)
{
	const struct jank_parks *parks = bpf_map_lookup_elem(&jank_parkers, &tgid);

	if (!parks)
		return 0;
	for (int i = 0; i < JANK_PARK_CHAIN_MAX; i++) {
		const struct jank_park_chain *chain = &parks->chains[i];

		if (!chain->verdict)
			break;
		if (chain->ip == ip && chain->script == script && chain__fits(chain, sp))
			return chain->verdict;
	}
	return 0;
}

#endif
