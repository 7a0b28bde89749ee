/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each thread keeps the evidence of at most one dispatch. Evidence of a newer dispatch means that
 * the older one was not slow, so it is dropped. Records of one thread arrive in order: the ring has
 * one queue.
 */
#include "model/loop.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "model/chain/thread_history.h"
#include "model/evidence.h"
#include "model/first_turns.h"

#define THREAD_MAX     65536
#define ENDED_NS       (2 * NS_PER_SEC) /* a child may continue the start-up */
#define EXPLAINED_PART 20		/* ignore waits below 1/20 of the dispatch */

/*
 * A handler in which the loop turns has evidence of its own, beside that of the turns: an entry
 * with this bit in the key. Thread ids have 22 bits.
 */
#define NESTED_KEY (1u << 31)

/*
 * A start-up is sent again when it turns out to have lasted longer, while the thread has other
 * dispatches: its evidence is kept beside theirs.
 */
#define STARTUP_KEY (1u << 30)

struct thread {
	uint32_t tid;	       /* or with NESTED_KEY */
	uint64_t dispatch_ns;  /* start of the dispatch of this evidence */
	uint64_t hang_due_ns;  /* due time of the dispatch reported as a hang; 0: none */
	uint64_t hang_told_ns; /* its delay at the last report */
	uint64_t ended_ns;     /* its process ended without a loop; 0: not known */
	struct evidence evidence;
	struct holder holder; /* for the evidence */
	UT_hash_handle hh;
};

struct loops {
	struct losses *losses;
	uint32_t (*uid_of)(const void *ctx, uint32_t pid); /* NULL: not known */
	const void *uid_ctx;
	struct thread *threads;
	struct budget *budget;
	struct thread_history *history; /* threads that may have caused waits */
	struct first_turns *first_turns;
	struct hists *ended;
};

struct loops *loops__new(struct losses *losses)
{
	struct loops *loops = calloc(1, sizeof(*loops));

	if (!loops)
		return NULL;
	loops->losses = losses;
	loops->ended = hists__new();
	loops->history = thread_history__new(HISTORY_BYTES_MAX, losses);
	loops->budget = budget__new(BUDGET_BYTES_MAX);
	loops->first_turns = first_turns__new();
	if (loops->ended && loops->history && loops->budget && loops->first_turns)
		return loops;
	loops__free(loops);
	return NULL;
}

static void drop_thread(struct loops *loops, struct thread *thread)
{
	budget__set(loops->budget, &thread->holder, 0, false);
	HASH_DEL(loops->threads, thread);
	evidence__clear(&thread->evidence);
	free(thread);
}

void loops__free(struct loops *loops)
{
	struct thread *thread, *next;

	if (!loops)
		return;
	HASH_ITER (hh, loops->threads, thread, next)
		drop_thread(loops, thread);
	hists__free(loops->ended);
	thread_history__free(loops->history);
	budget__free(loops->budget);
	first_turns__free(loops->first_turns);
	free(loops);
}

int loops__name_ended(struct loops *loops, const Jankbpf__Identity *process)
{
	return hists__name(loops->ended, process);
}

void loops__on_exit(struct loops *loops, uint32_t pid, uint64_t now_ns)
{
	struct thread *thread;

	HASH_FIND(hh, loops->threads, &pid, sizeof(pid), thread);
	if (thread)
		thread->ended_ns = now_ns;
}

void loops__rest(struct loops *loops, uint64_t now_ns, uint64_t open_ns)
{
	struct thread *thread, *next;

	HASH_ITER (hh, loops->threads, thread, next)
		if (thread->ended_ns && now_ns - thread->ended_ns > ENDED_NS)
			drop_thread(loops, thread);
	thread_history__rest(loops->history, now_ns, open_ns);
}

void loops__set_first_turns(const struct loops *loops, struct loop_hist *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		list[i].first_turn_ns =
			first_turns__of(loops->first_turns, list[i].pid, list[i].loop);
}

struct hists *loops__ended(const struct loops *loops)
{
	return loops->ended;
}

static void account(struct loops *loops, struct thread *thread)
{
	struct evidence *evidence = &thread->evidence;

	if (budget__set(loops->budget, &thread->holder, evidence->bytes,
			evidence__is_thinnable(evidence))) {
		losses__add(loops->losses, LOSS_NO_MEMORY, 1);
		evidence__drop(evidence, loops->losses);
	}
}

void loops__set_users(struct loops *loops, uint32_t (*uid_of)(const void *ctx, uint32_t pid),
		      const void *ctx)
{
	loops->uid_of = uid_of;
	loops->uid_ctx = ctx;
}

/* Starts the evidence of another dispatch. */
static void begin(struct loops *loops, struct thread *thread, uint32_t pid, uint64_t dispatch_ns)
{
	evidence__clear(&thread->evidence);
	account(loops, thread);
	thread->holder.uid = loops->uid_of ? loops->uid_of(loops->uid_ctx, pid) : UID_UNKNOWN;
	thread->dispatch_ns = thread->holder.since_ns = dispatch_ns;
}

static struct thread *thread_with(struct holder *holder)
{
	return (struct thread *)((char *)holder - offsetof(struct thread, holder));
}

static void make_room(struct loops *loops)
{
	struct holder *holder;
	enum budget_step step;

	while ((step = budget__step(loops->budget, &holder)) != BUDGET_FITS) {
		struct thread *thread = thread_with(holder);

		if (step == BUDGET_THIN)
			evidence__thin(&thread->evidence, loops->losses);
		else
			evidence__drop(&thread->evidence, loops->losses);
		account(loops, thread);
	}
}

/*
 * The thread's entry, with evidence of this dispatch only. NULL: out of memory, too many threads,
 * or the dispatch ended before another one began (a late record of bpf/iter.bpf.c). nested:
 * NESTED_KEY for the handler around nested turns, else 0.
 */
static struct thread *thread_of(struct loops *loops, const struct jank_rec *hdr, uint32_t nested,
				uint64_t dispatch_ns)
{
	uint32_t tid = hdr->tid | nested;
	struct thread *thread;

	HASH_FIND(hh, loops->threads, &tid, sizeof(tid), thread);
	if (!thread) {
		if (HASH_COUNT(loops->threads) >= THREAD_MAX) {
			losses__add(loops->losses, LOSS_THREADS_CAPPED, 1);
			return NULL;
		}
		thread = calloc(1, sizeof(*thread));
		if (thread) {
			thread->tid = tid;
			HASH_ADD(hh, loops->threads, tid, sizeof(tid), thread);
		}
		if (!thread) {
			losses__add(loops->losses, LOSS_NO_MEMORY, 1);
			return NULL;
		}
	}
	if (dispatch_ns < thread->dispatch_ns)
		return NULL;
	if (thread->dispatch_ns != dispatch_ns)
		begin(loops, thread, hdr->tgid, dispatch_ns);
	return thread;
}

static int on_stack(struct loops *loops, const struct stack_event *event)
{
	uint32_t nested = event->rec.hdr.flags & JANK_STACK_NESTED ? NESTED_KEY : 0;
	struct thread *thread = thread_of(loops, &event->rec.hdr, nested, event->rec.dispatch_ns);
	int res;

	if (!thread)
		return 0;
	res = evidence__add_stack(&thread->evidence, event, loops->losses);
	account(loops, thread);
	return res;
}

static int on_waited(struct loops *loops, const struct jank_rec_waited *rec)
{
	struct thread *thread = NULL;
	int res;

	if (rec->dispatch_ns) /* otherwise of another thread; its OTHER record follows */
		thread = thread_of(loops, &rec->hdr, 0, rec->dispatch_ns);
	if (!thread)
		return 0;
	res = evidence__add_waited(&thread->evidence, rec);
	account(loops, thread);
	return res;
}

static int on_message(struct loops *loops, const struct jank_rec_message *rec)
{
	struct thread *thread = thread_of(loops, &rec->hdr, 0, rec->dispatch_ns);
	int res;

	if (!thread)
		return 0;
	res = evidence__set_message(&thread->evidence, rec);
	account(loops, thread);
	return res;
}

static int on_facts(struct loops *loops, const struct jank_rec_facts *rec)
{
	struct thread *thread = thread_of(loops, &rec->hdr, 0, rec->dispatch_ns);

	if (thread)
		evidence__set_facts(&thread->evidence, rec);
	return 0;
}

static void set_hang(struct dispatch *dispatch, const struct thread *thread, uint64_t due_ns)
{
	dispatch->hang_reported = thread->hang_due_ns == due_ns;
	dispatch->hang_told_ns = dispatch->hang_reported ? thread->hang_told_ns : 0;
}

/* The thread keeps its evidence after a hang: the block at the end needs it too. */
static int give_evidence(struct loops *loops, struct dispatch *dispatch, struct thread *thread)
{
	/*
	 * A hang that was reported while waiting for a CPU had no start yet: compare the due times.
	 */
	uint64_t due_ns = dispatch->rec.start_ns - dispatch__start_delay(&dispatch->rec);

	set_hang(dispatch, thread, due_ns);
	if (dispatch->hang) {
		thread->hang_due_ns = due_ns;
		thread->hang_told_ns = dispatch__delay(&dispatch->rec);
		return evidence__copy(&dispatch->evidence, &thread->evidence);
	}
	dispatch->evidence = thread->evidence;
	thread->evidence = (struct evidence){ 0 };
	account(loops, thread);
	return 0;
}

static int explain(const struct loops *loops, struct dispatch *dispatch)
{
	const struct chain_ask ask = {
		.samples = dispatch->evidence.samples,
		.cnt = dispatch->evidence.sample_cnt,
		.tgid = dispatch->rec.hdr.tgid,
		.tid = dispatch->rec.hdr.tid,
		.min_ns = dispatch->rec.duration_ns / EXPLAINED_PART,
	};

	int res = chain__build(loops->history, &ask, &dispatch->chain);

	return res ? res
		   : syncers__find(loops->history, &ask, &dispatch->chain.syncers,
				   &dispatch->chain.syncer_cnt);
}

static void append(struct loops *loops, struct thread *to, struct thread *from)
{
	if (evidence__append(&to->evidence, &from->evidence))
		return;
	account(loops, from);
	account(loops, to);
}

/* A parent began the start-up: it has the evidence of its part. */
static void append_parents(struct loops *loops, struct thread *to)
{
	struct thread *from, *next;

	HASH_ITER (hh, loops->threads, from, next)
		if (from != to && from->dispatch_ns == to->dispatch_ns &&
		    from->tid != (to->tid & ~STARTUP_KEY) && from->evidence.sample_cnt)
			append(loops, to, from);
}

/*
 * Moves the evidence of a start-up to its own entry, where a later record of it finds it. That one
 * lasts longer, and has the evidence of the dispatch that was open on probation, too. Returns that
 * entry or NULL.
 */
static struct thread *startup_of(struct loops *loops, const struct jank_rec_block *rec)
{
	struct thread *startup = thread_of(loops, &rec->hdr, STARTUP_KEY, rec->start_ns), *thread;

	if (startup && !startup->evidence.sample_cnt)
		append_parents(loops, startup);
	HASH_FIND(hh, loops->threads, &rec->hdr.tid, sizeof(rec->hdr.tid), thread);
	if (startup && thread && thread->dispatch_ns >= rec->start_ns &&
	    thread->dispatch_ns < rec->start_ns + rec->duration_ns) {
		if (thread->dispatch_ns == rec->start_ns) {
			startup->hang_due_ns = thread->hang_due_ns;
			startup->hang_told_ns = thread->hang_told_ns;
		}
		append(loops, startup, thread);
	}
	return startup;
}

/* The stack of one nested wait stands for all of them. */
static void set_nested(struct dispatch *dispatch)
{
	struct evidence *evidence = &dispatch->evidence;

	if (dispatch->rec.end == JANK_END_NESTED && evidence->sample_cnt)
		evidence->samples[0].ns = dispatch->rec.state_ns[JANK_STATE_POLL];
}

static int on_block(struct loops *loops, const struct event *event, struct dispatch **ret)
{
	const struct jank_rec_block *rec = &event->block;
	uint32_t nested = rec->end == JANK_END_NESTED ? NESTED_KEY : 0;
	bool is_startup = event->kind != JANK_REC_HANG && rec->ready_cnt == JANK_READY_STARTUP;
	struct thread *thread = is_startup ? startup_of(loops, rec)
					   : thread_of(loops, &rec->hdr, nested, rec->start_ns);
	struct dispatch *dispatch = calloc(1, sizeof(*dispatch));
	int res = 0;

	if (!dispatch)
		return -ENOMEM;
	dispatch->rec = *rec;
	dispatch->hang = event->kind == JANK_REC_HANG;
	if (thread && is_startup) {
		set_hang(dispatch, thread, rec->start_ns);
		res = evidence__copy(&dispatch->evidence, &thread->evidence);
	} else if (thread) {
		res = give_evidence(loops, dispatch, thread);
	}
	set_nested(dispatch);
	evidence__sort(&dispatch->evidence, loops->losses);
	if (!res)
		res = explain(loops, dispatch);
	if (res) {
		dispatch__free(dispatch);
		return res;
	}
	*ret = dispatch;
	return 0;
}

static void forget(struct loops *loops, uint32_t key)
{
	struct thread *thread;

	HASH_FIND(hh, loops->threads, &key, sizeof(key), thread);
	if (thread)
		drop_thread(loops, thread);
}

static int on_thread_end(struct loops *loops, const struct event *event)
{
	forget(loops, event->hdr.tid);
	forget(loops, event->hdr.tid | NESTED_KEY);
	forget(loops, event->hdr.tid | STARTUP_KEY);
	return hists__add(loops->ended, &event->thread);
}

static int take_in(struct loops *loops, const struct event *event, struct dispatch **ret)
{
	switch (event->kind) {
	case JANK_REC_STACK:
		return on_stack(loops, &event->stack);
	case JANK_REC_MESSAGE:
		return on_message(loops, &event->message);
	case JANK_REC_WAITED:
		return on_waited(loops, &event->waited);
	case JANK_REC_FACTS:
		return on_facts(loops, &event->facts);
	case JANK_REC_BLOCK:
	case JANK_REC_HANG:
		return on_block(loops, event, ret);
	case JANK_REC_THREAD:
		return on_thread_end(loops, event);
	case JANK_REC_STARTED:
		forget(loops, event->hdr.tid | STARTUP_KEY);
		return first_turns__add(loops->first_turns, &event->started);
	}
	return 0;
}

void loops__set_waiting(struct loops *loops, size_t bytes)
{
	budget__set_waiting(loops->budget, bytes);
}

int loops__event(struct loops *loops, const struct event *event, struct dispatch **ret)
{
	int history_res = 0, res;

	*ret = NULL;
	if (event->kind != JANK_REC_STACK || !(event->hdr.flags & JANK_STACK_NESTED))
		history_res = thread_history__event(loops->history, event);
	res = take_in(loops, event, ret);
	make_room(loops);
	return res ? res : history_res;
}

uint64_t dispatch__start_delay(const struct jank_rec_block *rec)
{
	return rec->start_delay_ns == JANK_START_DELAY_UNKNOWN ? 0 : rec->start_delay_ns;
}

uint64_t dispatch__delay(const struct jank_rec_block *rec)
{
	return dispatch__start_delay(rec) + rec->duration_ns;
}

void dispatch__free(struct dispatch *dispatch)
{
	if (!dispatch)
		return;
	evidence__clear(&dispatch->evidence);
	chain__clear(&dispatch->chain);
	free(dispatch);
}
