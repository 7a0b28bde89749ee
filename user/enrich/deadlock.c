/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts must hold at one moment. So all threads and locks are read twice, in the same order. If
 * nothing differs, no thread of the chain ran between its two readings, so all slept from the end
 * of the first pass to the begin of the second one; and only the owners could change the locks.
 */
#include "enrich/deadlock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "enrich/lock_owner.h"
#include "model/chain/chain.h"
#include "model/sample.h"
#include "procfs/futex_wait.h"
#include "procfs/procinfo.h"

#define PROC	   "/proc"
#define KNOWN_MAX  8 /* deadlocks whose dispatches may still end, with their threads */
#define LOCK_BYTES 256

/* A thread that waits, and for what. */
struct member {
	uint32_t pid, tid;
	struct futex_wait wait;
};

struct deadlock {
	uint32_t pid, tid; /* of the dispatch; 0: the entry is free */
	uint64_t start_ns; /* of the dispatch */
	uint64_t t_ns;	   /* begin of its wait */
	struct member list[CHAIN_MAX - 1];
	size_t cnt;
	struct lock_owner last; /* of the last lock */
	char locks[CHAIN_MAX - 1][LOCK_BYTES];
	char comms[CHAIN_MAX][JANK_COMM_SZ + 1]; /* of each owner */
};

static bool is_in(const struct deadlock *found, const struct lock_owner *owner)
{
	for (size_t i = 0; i < found->cnt; i++)
		if (found->list[i].pid == owner->pid && found->list[i].tid == owner->tid)
			return true;
	return false;
}

/* The kernel refuses only a thread that another one of the chain waits for by a PI mutex. */
static bool is_refused(const struct deadlock *found)
{
	const struct futex_wait *last = &found->list[found->cnt - 1].wait;

	return last->kind == LOCK_REFUSED && found->cnt > 1 &&
	       found->list[found->cnt - 2].wait.kind == LOCK_PI_MUTEX;
}

/* True if the chain of locks and owners that begins with the thread cannot end by itself. */
static bool walk(struct deadlock *found)
{
	struct lock_owner owner = { .pid = found->pid, .tid = found->tid };

	for (found->cnt = 0; found->cnt < CHAIN_MAX - 1;) {
		struct member *member = &found->list[found->cnt++];

		member->pid = owner.pid;
		member->tid = owner.tid;
		if (futex_wait__read(PROC, member->pid, member->tid, &member->wait))
			return false;
		found->last = (struct lock_owner){ 0 };
		if (member->wait.kind == LOCK_REFUSED)
			return is_refused(found);
		if (!lock_owner__find(PROC, member->pid, &member->wait, &owner))
			return false;
		found->last = owner;
		if (owner.gone || is_in(found, &owner))
			return true;
	}
	return false;
}

static bool is_same(const struct deadlock *a, const struct deadlock *b)
{
	bool same = a->cnt == b->cnt && a->last.pid == b->last.pid && a->last.tid == b->last.tid &&
		    a->last.gone == b->last.gone;

	for (size_t i = 0; same && i < a->cnt; i++) {
		const struct futex_wait *x = &a->list[i].wait, *y = &b->list[i].wait;

		same = a->list[i].tid == b->list[i].tid && x->address == y->address &&
		       x->switch_cnt == y->switch_cnt && x->kind == y->kind && x->owner == y->owner;
	}
	return same;
}

static void name_all(struct symbolizer *symbolizer, struct deadlock *found)
{
	for (size_t i = 0; i < found->cnt; i++) {
		const struct member *member = &found->list[i];
		uint32_t pid = i + 1 < found->cnt ? found->list[i + 1].pid : found->last.pid;
		uint32_t tid = i + 1 < found->cnt ? found->list[i + 1].tid : found->last.tid;

		lock_owner__name(symbolizer, PROC, member->pid, &member->wait, found->locks[i],
				 LOCK_BYTES);
		if (pid)
			threadname__read(PROC, pid, tid, found->comms[i]);
	}
}

/* --- into the block */

static struct wait_object *waited_of(const struct deadlock *found, size_t i)
{
	const struct jank_rec_waited raw = {
		.hdr.flags = JANK_WAITED_ARGS,
		.fd = -1,
		.timeout_ns = UINT64_MAX,
		.args = { found->list[i].wait.address },
	};
	struct wait_object *ret = wait_object__new(&raw);

	if (ret)
		ret->lock = strdup(found->locks[i]);
	if (ret && ret->lock)
		return ret;
	wait_object__free(ret);
	return NULL;
}

/* The owner of lock i, and what that thread waits for. */
static int set_link(struct link *link, struct block *block, const struct deadlock *found, size_t i,
		    const struct sample *sample)
{
	bool waits = i + 1 < found->cnt;

	*link = (struct link){
		.role = LINK_HELD,
		.gone = waits ? LINK_HERE : found->last.gone,
		.task = { .pid = waits ? found->list[i + 1].pid : found->last.pid,
			  .tid = waits ? found->list[i + 1].tid : found->last.tid },
		.t_ns = sample->t_ns,
		.ns = sample->ns,
		.state = waits ? JANK_STATE_FUTEX : JANK_STATE_CNT,
		.syscall = -1,
		.syscall_name = waits ? "futex" : NULL,
	};
	snprintf(link->task.comm, sizeof(link->task.comm), "%s", found->comms[i]);
	if (!waits)
		return 0;
	chain__keep_stack(link, block);
	link->waited = waited_of(found, i + 1);
	return link->waited ? 0 : -ENOMEM;
}

static int fill(struct block *block, size_t sample, const struct deadlock *found)
{
	size_t cnt = found->cnt - !found->last.tid; /* a refused thread waits for no owner */
	struct link *links = calloc(CHAIN_MAX, sizeof(*links));
	char *lock = strdup(found->locks[0]);
	int res = links && lock ? 0 : -ENOMEM;

	for (size_t i = 0; !res && i < cnt; i++)
		res = set_link(&links[i], block, found, i, &block->samples[sample]);
	if (res) {
		free(lock);
		links__free(links, links ? cnt : 0);
		return res;
	}
	links__free(block->chain, block->chain_cnt);
	free(block->samples[sample].waited->lock);
	block->samples[sample].waited->lock = lock;
	block->chain = links;
	block->chain_cnt = cnt;
	block->chain_sample = sample;
	block->deadlock = true;
	return 0;
}

/* --- found ones, until their dispatches end */

static struct deadlock known[KNOWN_MAX];

/* A signal that ends the thread wakes it, too. */
static bool is_wait(const struct block *block, const struct sample *sample)
{
	return sample->state == JANK_STATE_FUTEX && sample->waited &&
	       (!sample->has_waker || block->ended_by_exit) &&
	       sample->waited->raw.hdr.flags & JANK_WAITED_ARGS;
}

/* Index of the wait that began then; sample_cnt: there is none. */
static size_t find_wait(const struct block *block, uint64_t t_ns)
{
	size_t i = 0;

	while (i < block->sample_cnt &&
	       (block->samples[i].t_ns != t_ns || !is_wait(block, &block->samples[i])))
		i++;
	return i;
}

static struct deadlock *known_of(const struct block *block)
{
	for (size_t i = 0; i < KNOWN_MAX; i++)
		if (known[i].tid == block->tid && known[i].pid == block->pid &&
		    known[i].start_ns == block->start_ns)
			return &known[i];
	return NULL;
}

static void keep(const struct block *block, const struct deadlock *found)
{
	static size_t next;
	struct deadlock *place = known_of(block);

	if (!place)
		place = &known[next++ % KNOWN_MAX];
	*place = *found;
}

static int repeat(struct block *block)
{
	struct deadlock *found = known_of(block);
	size_t sample = found ? find_wait(block, found->t_ns) : 0;
	int res = 0;

	if (!found)
		return 0;
	if (sample < block->sample_cnt)
		res = fill(block, sample, found);
	found->tid = 0;
	return res;
}

int deadlock__find(struct symbolizer *symbolizer, struct block *block)
{
	struct deadlock found = { .pid = block->pid,
				  .tid = block->tid,
				  .start_ns = block->start_ns },
			again = found;
	size_t sample = block__open_wait(block);
	const struct jank_rec_waited *raw;

	if (block->type != BLOCK_HANG)
		return repeat(block);
	if (sample == block->sample_cnt || !is_wait(block, &block->samples[sample]))
		return 0;
	raw = &block->samples[sample].waited->raw;
	if (!walk(&found) || found.list[0].wait.address != raw->args[0] || !walk(&again) ||
	    !is_same(&found, &again))
		return 0;
	found.t_ns = block->samples[sample].t_ns;
	name_all(symbolizer, &found);
	keep(block, &found);
	return fill(block, sample, &found);
}
