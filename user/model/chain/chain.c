/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each link is examined only for the time in which the previous link waited for it, so the interval
 * gets shorter with each link.
 */
#include "model/chain/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/evidence.h"
#include "model/sample.h"

#define TRY_MAX		   8 /* waits of a state to try: some have no responsible thread */
#define LINK_PREEMPTOR_MAX 16

/* A wait of the dispatch. Retried waits count as one, with the sample of the last slice. */
struct candidate {
	size_t sample; /* index */
	uint64_t ns;
	struct wait wait;
};

/* Longer ones first; of equals the earlier one. */
static bool comes_after(const struct candidate *a, const struct candidate *b)
{
	return a->ns < b->ns || (a->ns == b->ns && a->sample > b->sample);
}

/*
 * The longest wait of the state that comes after `last` in this order; last NULL: of all. False:
 * none.
 */
static bool longest(const struct chain_ask *ask, uint32_t state, const struct candidate *last,
		    struct candidate *ret)
{
	bool found = false;

	for (size_t i = 0; i < ask->cnt; i++) {
		struct candidate each = { .sample = i };

		if (ask->samples[i].state != state ||
		    retry_waits__goes_on(ask->samples, ask->cnt, i))
			continue;
		each.wait = retry_waits__wait(ask->samples, i, ask->tgid, ask->tid);
		each.ns = each.wait.end - each.wait.begin;
		if (!wait__may_have_one(&each.wait) || (last && !comes_after(&each, last)) ||
		    (found && !comes_after(ret, &each)))
			continue;
		*ret = each;
		found = true;
	}
	return found;
}

/* Finds a wait of that state with a responsible thread. */
static bool pick_of_kind(const struct thread_history *history, const struct chain_ask *ask,
			 uint32_t state, struct wait *wait, struct chain *ret)
{
	struct candidate candidate, last;

	for (int i = 0; i < TRY_MAX; i++) {
		struct waker_owner owner;

		if (!longest(ask, state, i ? &last : NULL, &candidate))
			return false;
		last = candidate;
		*wait = candidate.wait;
		ret->sample = candidate.sample;
		if (waker_owner__find(history, wait, &owner))
			return true;
	}
	return false;
}

static bool pick(const struct thread_history *history, const struct chain_ask *ask,
		 struct wait *wait, struct chain *ret)
{
	uint64_t total[JANK_STATE_CNT] = { 0 };

	for (size_t i = 0; i < ask->cnt; i++) {
		struct wait each = wait__of_sample(&ask->samples[i], ask->tgid, ask->tid);

		if (wait__may_have_one(&each))
			total[each.state] += each.end - each.begin;
	}
	for (;;) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < JANK_STATE_CNT; i++)
			if (total[i] > total[most])
				most = i;
		if (!total[most] || total[most] < ask->min_ns)
			return false;
		if (pick_of_kind(history, ask, most, wait, ret))
			return true;
		total[most] = 0;
	}
}

static int set_stack(struct stack *ret, const struct other_record *record)
{
	const struct jank_rec_stack *rec = &record->event.rec;

	ret->kernel_cnt = rec->kernel_cnt;
	ret->user_cnt = rec->user_cnt;
	ret->flags = rec->hdr.flags;
	ret->t_ns = rec->t_ns;
	return stack__set_addresses(ret, record->event.addresses);
}

/* Sets where the thread was in its largest state, and what it waited for there. */
static int set_place(struct link *link, const struct account *account)
{
	const struct other_record *record = account->span;

	if (account->state == JANK_STATE_RUNNING)
		record = account->tick;
	if (!record)
		return 0;
	link->syscall = record->event.rec.syscall;
	link->syscall_name = sample__syscall_name(link->syscall);
	if (record->waited && account->state == record->event.rec.state) {
		link->waited = wait_object__new(record->waited);
		if (!link->waited)
			return -ENOMEM;
	}
	return set_stack(&link->stack, record);
}

/* Sets the known tasks that ran while the thread waited for a CPU; drops those over the limit. */
static int set_preemptors(struct link *link, const struct thread_history *history)
{
	const struct other_record *record = thread_history__newest(history, link->task.tid);

	for (; record; record = record->older) {
		const struct stack_event *event = &record->event;

		if (event->rec.hdr.tgid != link->task.pid ||
		    event->rec.hdr.flags & JANK_STACK_THROTTLED ||
		    event->rec.t_ns >= link->t_ns + link->ns ||
		    event->rec.t_ns + event->rec.ns <= link->t_ns)
			continue;
		for (unsigned i = 0; i < event->rec.slice_cnt; i++)
			if (tasks__add(&link->preemptors, &link->preemptor_cnt, LINK_PREEMPTOR_MAX,
				       &event->slices[i],
				       event->prios ? event->prios[i] : 0) == -ENOMEM)
				return -ENOMEM;
	}
	tasks__sort(link->preemptors, link->preemptor_cnt);
	return 0;
}

/* Adds a link for the responsible thread; *ret_account: its time account during the wait. */
static int add_link(const struct thread_history *history, const struct wait *wait,
		    const struct waker_owner *owner, struct chain *ret, struct account *ret_account)
{
	const struct account_ask ask = {
		.tgid = owner->task.pid,
		.tid = owner->task.tid,
		.begin = wait->begin,
		.end = wait->end,
		.ran_last = owner->woke,
	};
	const struct other_record *wake = waker_owner__wake(history, owner, wait);
	struct link *link = &ret->links[ret->cnt];

	if (account__of(history, &ask, ret_account))
		return -ENOMEM;
	*link = (struct link){
		.role = owner->role,
		.task = owner->task,
		.t_ns = wait->begin,
		.ns = wait->end - wait->begin,
		.state = ret_account->state,
		.prio = ret_account->prio,
		.syscall = -1,
	};
	link->task.cgroup = NULL;
	for (int i = 0; i < JANK_STATE_CNT; i++)
		link->part_ns[i] = ret_account->part_ns[i];
	link->throttled_ns = ret_account->throttled_ns;
	ret->cnt++;
	if (set_place(link, ret_account) || (wake && set_stack(&link->wake_stack, wake)))
		return -ENOMEM;
	return set_preemptors(link, history);
}

/*
 * All previous links slept for the whole interval, so none of them can wake another thread: such a
 * record contradicts itself.
 */
static bool is_in(const struct chain *chain, uint32_t tid)
{
	for (size_t i = 0; i < chain->cnt; i++)
		if (chain->links[i].task.tid == tid)
			return true;
	return false;
}

/* The longest wait of the last link in its largest state; false: it did not wait. */
static bool next_wait(const struct account *account, struct wait *wait)
{
	if (!account->span || account->state < JANK_STATE_FIRST_BLOCKED)
		return false;
	*wait = wait__of_record(account->span);
	wait->begin = account->span_begin;
	wait->end = account->span_end;
	return true;
}

int chain__build(const struct thread_history *history, const struct chain_ask *ask,
		 struct chain *ret)
{
	struct wait wait;
	struct waker_owner owner;
	struct account account;

	*ret = (struct chain){ 0 };
	if (!pick(history, ask, &wait, ret))
		return 0;
	ret->links = calloc(CHAIN_MAX, sizeof(*ret->links));
	if (!ret->links)
		return -ENOMEM;
	while (ret->cnt < CHAIN_MAX && waker_owner__find(history, &wait, &owner)) {
		if (owner.task.tid == ask->tid || is_in(ret, owner.task.tid))
			return 0;
		if (add_link(history, &wait, &owner, ret, &account))
			return -ENOMEM;
		if (!next_wait(&account, &wait))
			return 0;
	}
	return 0;
}

void chain__clear(struct chain *chain)
{
	links__free(chain->links, chain->cnt);
	tasks__free(chain->syncers, chain->syncer_cnt);
	*chain = (struct chain){ 0 };
}

void chain__keep_stack(struct link *to, struct block *block)
{
	for (size_t i = 0; i < block->chain_cnt; i++) {
		struct link *from = &block->chain[i];

		if (from->task.tid != to->task.tid || from->state != to->state)
			continue;
		to->stack = from->stack;
		from->stack = (struct stack){ 0 };
		memcpy(to->part_ns, from->part_ns, sizeof(to->part_ns));
		return;
	}
}

/*
 * --- Lock holders, after user/enrich/ has resolved the owners of wait objects in /proc. In its own
 * pid namespace a process knows its threads by other ids. For a hang, only the id of a holder may
 * be known.
 */

/* The wait object of the previous link; for the first link, of the dispatch. */
static const struct wait_object *waited_before(const struct block *block, size_t i)
{
	return i ? block->chain[i - 1].waited : block->samples[block->chain_sample].waited;
}

/* False: no record of that thread exists, and it is not a thread. */
static bool settle(struct link *link, const struct other_task *owner)
{
	bool unheard = link->role == LINK_HELD && link->state == JANK_STATE_CNT &&
		       !link->wake_stack.addresses && !*link->task.comm;

	if (!owner->tid)
		return !unheard;
	if (unheard) {
		link->task.pid = owner->pid;
		link->task.tid = owner->tid;
	}
	if (link->task.tid != owner->tid)
		return true;
	link->role = LINK_HELD;
	if (!*link->task.comm)
		memcpy(link->task.comm, owner->comm, sizeof(owner->comm));
	return true;
}

void chain__resolve_owners(struct block *block)
{
	if (block->deadlock) /* its owners are resolved */
		return;
	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct wait_object *waited = waited_before(block, i);
		const struct other_task none = { 0 };

		if (settle(&block->chain[i], waited ? &waited->owner : &none))
			continue;
		links__cut(&block->chain, &block->chain_cnt, i);
		return;
	}
}
