/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One loop over the items of the queue. */
#include "session/sink_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "catalogue/idle_places.h"
#include "enrich/block_facts.h"
#include "journal/answers.h"
#include "model/block.h"
#include "session/not_watched.h"
#include "session/probation.h"

/*
 * At the end of a run, waiting items are named and written in full for this long. After that,
 * blocks are written without their stacks.
 */
#define HURRY_NS NS_PER_SEC

/*
 * The traced program has priority. On one CPU with redis (blocks of 20 ms, 3 s) this thread took 24
 * ms of CPU from it at nice 0, and 9 ms at nice 10 (docs/design.md). When items wait behind other
 * programs for BEHIND_NS, the thread gets the usual share.
 */
#define BEHIND_NICE 10
#define BEHIND_NS   (250 * NS_PER_MS)

struct sink_thread {
	struct sinker_opts opts;
	_Atomic uint64_t hurry_ns; /* deadline for full output; 0: the run continues */
	pthread_t thread;
	_Atomic pid_t tid; /* 0: not started yet */
	int nice;	   /* of the process */
	bool makes_way;
	struct idle_places *places;
	struct probation *probation;
	struct left_alone left_alone;
	struct name_hint name_hint;
	struct not_watched not_watched;
	uint64_t block_cnt;
	bool leases_told;
	bool closed; /* stdout has no reader */
	bool ending; /* ITEM_STOP is queued */
};

static void note(struct sink_thread *sinker, int res)
{
	if (res != -EPIPE || sinker->closed)
		return;
	sinker->closed = true;
	eventfd_write(sinker->opts.closed_fd, 1);
}

static bool is_full(const struct sink_thread *sinker)
{
	return sinker->opts.count && sinker->block_cnt >= sinker->opts.count;
}

/* Checks -l; enters the parks of the loop's process for the probes. */
static bool takes(struct sink_thread *sinker, uint32_t pid, const struct catalogue_row *row,
		  uint32_t loop)
{
	if (!loop_choice__takes(sinker->opts.choice, row, loop))
		return false;
	if (parks__update(sinker->opts.parks, pid, row))
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
	return true;
}

/* The owner of the loop is known here: -l selects by it, and -n counts the rest. */
static bool wants(struct sink_thread *sinker, struct block *block)
{
	const struct catalogue_row *row =
		loop_owner__row(sinker->opts.whose, block->pid, block->tid, block->loop);

	if (row)
		block->loop_name = row->name;
	if (!is_full(sinker) && takes(sinker, block->pid, row, block->loop) &&
	    !parks__is_early(sinker->opts.parks, block))
		return true;
	return false;
}

static void note_scripts(struct sink_thread *sinker, int res)
{
	if (res && res != -E2BIG)
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
}

/* Enters the thread's interpreter frames for the probes, if it has some. */
static void meet(struct sink_thread *sinker, uint32_t pid, uint32_t tid)
{
	note_scripts(sinker, interp_threads__update(sinker->opts.scripts, pid, tid));
}

/*
 * Also enters the threads that were waited for, for the next time. If their stacks were named, the
 * tids still belong to the same threads.
 */
static void meet_chain(struct sink_thread *sinker, const struct block *block)
{
	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct other_task *task = &block->chain[i].task;

		if (symbolizer__knows(sinker->opts.symbolizer, task->pid))
			meet(sinker, task->pid, task->tid);
	}
}

static bool hurries(const struct sink_thread *sinker)
{
	return sinker->hurry_ns && clock__mono_ns() > sinker->hurry_ns;
}

/*
 * The traced program determines the amount of naming work; a user who ends the run must not wait
 * for it.
 */
static void drop_evidence(struct sink_thread *sinker, struct block *block)
{
	size_t cnt = block__drop_evidence(block);

	losses__add(sinker->opts.losses, LOSS_SAMPLES_CAPPED, cnt);
	if (block__add_loss(block, LOSS_SAMPLES_CAPPED, cnt))
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
}

static void leave_out(void *ctx, struct block *block)
{
	struct sink_thread *sinker = ctx;

	output__left_out(sinker->opts.output, block);
	block__free(block);
}

/* Reports a block that is no longer on probation and is wanted. */
static void tell_block(struct sink_thread *sinker, struct block *block)
{
	if (idle_places__rests(sinker->places, block)) {
		leave_out(sinker, block);
		return;
	}
	if (idle_places__fill(sinker->places, block)) {
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
		block__add_loss(block, LOSS_NO_MEMORY, 1);
	}
	note(sinker, output__block(sinker->opts.output, block));
	name_hint__look(&sinker->name_hint, block);
	meet_chain(sinker, block);
	sinker->block_cnt += block->type == BLOCK_JANK;
	if (is_full(sinker))
		eventfd_write(sinker->opts.closed_fd, 1);
	block__free(block);
}

/* Handles a block from probation once its loop is certain. */
static void on_certain(void *ctx, struct block *block)
{
	if (wants(ctx, block))
		tell_block(ctx, block);
	else
		leave_out(ctx, block);
}

static void settle(struct sink_thread *sinker, struct block *block)
{
	if (block_facts__fill(block)) {
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
		block__add_loss(block, LOSS_NO_MEMORY, 1);
	}
	output__resolve_all(sinker->opts.output, block);
}

static void on_block(struct sink_thread *sinker, struct item *item)
{
	struct block *block = item->data;

	if (hurries(sinker))
		drop_evidence(sinker, block);
	meet(sinker, block->pid, block->tid);
	if (block->trial) {
		settle(sinker, block);
		probation__hold(sinker->probation, block, clock__mono_ns());
	} else if (wants(sinker, block)) {
		settle(sinker, block);
		tell_block(sinker, block);
	} else {
		leave_out(sinker, block);
	}
	symbolizer__trim(sinker->opts.symbolizer);
}

static void note_loop(struct sink_thread *sinker, const struct wait_note *note)
{
	const struct jank_rec_wait *rec = &note->rec;
	struct loop_owner *whose = sinker->opts.whose;

	meet(sinker, rec->hdr.tgid, rec->hdr.tid);
	if (idle_places__record(sinker->places, note))
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
	if (loop_owner__record(whose, note))
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
	else if (sinker->opts.eager)
		takes(sinker, rec->hdr.tgid,
		      loop_owner__row(whose, rec->hdr.tgid, rec->hdr.tid, rec->loop), rec->loop);
}

static void on_wait(struct sink_thread *sinker, struct item *item)
{
	const struct wait_note *note = item->data;

	if (!parks__asks(&note->rec)) {
		note_loop(sinker, note);
		probation__confirm(sinker->probation, note->rec.hdr.tid, note->rec.hdr.flags,
				   clock__mono_ns());
	} else {
		meet(sinker, note->rec.hdr.tgid, note->rec.hdr.tid);
		if (parks__answer(sinker->opts.parks, note))
			losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
	}
	wait_note__free(item->data);
}

static void on_unwatched(struct sink_thread *sinker, struct item *item)
{
	not_watched__complete(&sinker->not_watched, item->data);
	not_watched__report(&sinker->not_watched, item->data);
	unwatched__free(item->data);
	free(item->data);
}

/* Omits loops that are switched off. */
static bool takes_loop(struct sink_thread *sinker, struct summary *summary, struct loop_hist *loop)
{
	const struct catalogue_row *row =
		loop_owner__process_row(sinker->opts.whose, loop->pid, loop->loop);

	loop->loop_name = row ? row->name : NULL;
	if (!row || !row->is_off || loop_choice__takes(sinker->opts.choice, row, loop->loop))
		return true;
	summary->dispatch_cnt -= loop->dispatch_cnt;
	not_watched__add_off(&sinker->not_watched, &summary->unwatched, loop->pid,
			     loop->process ? loop->process : "?", row);
	free(loop->process);
	return false;
}

static void name_loops(struct sink_thread *sinker, struct summary *summary)
{
	size_t cnt = 0;

	loop_owner__resolve_all(sinker->opts.whose);
	for (size_t i = 0; i < summary->loop_cnt; i++)
		if (takes_loop(sinker, summary, &summary->loops[i]))
			summary->loops[cnt++] = summary->loops[i];
	summary->loop_cnt = cnt;
}

static void on_summary(struct sink_thread *sinker, struct item *item)
{
	struct summary *summary = item->data;

	probation__end(sinker->probation);
	if (sinker->opts.found)
		sinker->opts.found(sinker->opts.found_ctx, sinker->opts.whose);
	not_watched__complete(&sinker->not_watched, &summary->unwatched);
	name_loops(sinker, summary);
	if (sinker->opts.tell_unwatched && !sinker->not_watched.told)
		not_watched__report(&sinker->not_watched, &summary->unwatched);
	if (sinker->opts.journal && journal__add_end(sinker->opts.journal, item->data))
		losses__add(sinker->opts.losses, LOSS_JOURNAL, 1);
	note(sinker, output__summary(sinker->opts.output, item->data));
	summary__free(item->data);
	free(item->data);
}

static void on_raw(struct sink_thread *sinker, struct item *item)
{
	if (journal_writer__raw(sinker->opts.journal, item->data, item->size))
		losses__add(sinker->opts.losses, LOSS_JOURNAL, 1);
	free(item->data);
}

static void on_copy(struct sink_thread *sinker, struct item *item)
{
	int res;

	if (hurries(sinker)) {
		losses__add(sinker->opts.losses, JANK_LOST_COPY, 1);
		free(item->data);
		return;
	}
	res = stack_cache__take(sinker->opts.callers, item->data, item->size);
	if (res)
		losses__add(sinker->opts.losses, res == -ENOMEM ? LOSS_NO_MEMORY : LOSS_BAD_RECORD,
			    1);
}

/* Warns once: a process that holds leases on purpose holds many. */
static void tell_leases(struct sink_thread *sinker)
{
	uint64_t cnt;
	const char *path = symbolizer__leased(sinker->opts.symbolizer, &cnt);

	if (!path || sinker->leases_told)
		return;
	sinker->leases_told = true;
	log__warn("'%s': another process holds a lease on it%s: names are missing until it is "
		  "given up",
		  path, cnt > 1 ? ", and on other files" : "");
}

/* Skips programs known by themselves: they have parks of their own, or are left alone (Go). */
static void find_waits(struct sink_thread *sinker, const struct identity *process)
{
	uint32_t pid = process->pid;
	int res;

	if (!sinker->opts.find_waits)
		return;
	res = parks__find_waits(sinker->opts.parks, pid, process->exe);
	if (!res && !loop_owner__row(sinker->opts.whose, pid, pid, JANK_LOOP_PARK))
		res = parks__watch_idle(sinker->opts.parks, pid, sinker->opts.workers);
	if (res)
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
}

static void on_process(struct sink_thread *sinker, struct item *item)
{
	struct err err = {};
	int res = symbolizer__process(sinker->opts.symbolizer, item->pid, &err);

	if (res && res != -ESRCH)
		log__verbose("process %u: names may be missing: %s", item->pid, err.msg);
	tell_leases(sinker);
	interp_threads__on_exit(sinker->opts.scripts, item->pid); /* of the previous program */
	meet(sinker, item->pid, item->pid);
	not_watched__met(&sinker->not_watched, item->data);
	if (loop_owner__program(sinker->opts.whose, item->pid))
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
	if (left_alone__update(&sinker->left_alone, item->data,
			       loop_owner__program_row(sinker->opts.whose, item->pid)))
		losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
	find_waits(sinker, item->data);
	if (sinker->opts.journal && journal__add_process(sinker->opts.journal, item->data))
		losses__add(sinker->opts.losses, LOSS_JOURNAL, 1);
	identity__free(item->data);
}

/* Waits for an item; looks for new interpreter threads meanwhile. */
static void next(struct sink_thread *sinker, struct item *ret)
{
	struct interp_threads *scripts = sinker->opts.scripts;

	for (;;) {
		uint64_t due_ns = interp_threads__due_ns(scripts);

		if (due_ns && clock__mono_ns() >= due_ns)
			note_scripts(sinker, interp_threads__look(scripts));
		else if (queue__get(sinker->opts.queue, due_ns, ret))
			return;
	}
}

static void on_map(struct sink_thread *sinker, struct item *item)
{
	if (item->data)
		symbolizer__mapped(sinker->opts.symbolizer, item->pid, item->data);
	else if (symbolizer__knows(sinker->opts.symbolizer, item->pid))
		symbolizer__process(sinker->opts.symbolizer, item->pid, NULL);
	free(item->data);
	tell_leases(sinker);
}

static void make_way(struct sink_thread *sinker, bool yes)
{
	if (!sinker->tid || sinker->makes_way == yes)
		return;
	sinker->makes_way = yes;
	thread__set_nice(sinker->tid, sinker->nice + (yes ? BEHIND_NICE : 0));
}

void sink_thread__pace(struct sink_thread *sinker)
{
	uint64_t busy_ns = queue__busy_ns(sinker->opts.queue);

	make_way(sinker, !busy_ns || clock__mono_ns() - busy_ns < BEHIND_NS);
}

static void *run(void *arg)
{
	struct sink_thread *sinker = arg;
	struct item item;

	sinker->makes_way = true;
	thread__set_nice(gettid(), sinker->nice + BEHIND_NICE);
	sinker->tid = gettid(); /* from here on sink_thread__pace sets the priority */
	for (;;) {
		next(sinker, &item);
		switch (item.kind) {
		case ITEM_BLOCK:
			on_block(sinker, &item);
			break;
		case ITEM_SUMMARY:
			on_summary(sinker, &item);
			break;
		case ITEM_RAW:
			on_raw(sinker, &item);
			break;
		case ITEM_PROCESS:
			on_process(sinker, &item);
			break;
		case ITEM_WAIT:
			on_wait(sinker, &item);
			break;
		case ITEM_UNWATCHED:
			on_unwatched(sinker, &item);
			break;
		case ITEM_COPY:
			on_copy(sinker, &item);
			break;
		case ITEM_MAP:
			on_map(sinker, &item);
			break;
		case ITEM_MAIN:
			if (parks__watch_idle(sinker->opts.parks, item.pid, false))
				losses__add(sinker->opts.losses, LOSS_NO_MEMORY, 1);
			break;
		case ITEM_PROCESS_GONE:
			not_watched__on_exit(&sinker->not_watched, item.pid);
			output__on_exit(sinker->opts.output, item.pid);
			loop_owner__on_exit(sinker->opts.whose, item.pid);
			idle_places__on_exit(sinker->places, item.pid);
			probation__on_exit(sinker->probation, item.pid);
			parks__on_exit(sinker->opts.parks, item.pid);
			stack_cache__on_exit(sinker->opts.callers, item.pid);
			interp_threads__on_exit(sinker->opts.scripts, item.pid);
			symbolizer__process_gone(sinker->opts.symbolizer, item.pid);
			break;
		case ITEM_STOP:
			return NULL;
		}
	}
}

static void free_parts(struct sink_thread *sinker)
{
	name_hint__free(&sinker->name_hint);
	not_watched__free(&sinker->not_watched);
	left_alone__free(&sinker->left_alone);
	probation__free(sinker->probation);
	idle_places__free(sinker->places);
	free(sinker);
}

int sink_thread__start(const struct sinker_opts *opts, struct sink_thread **ret, struct err *err)
{
	struct sink_thread *sinker = calloc(1, sizeof(*sinker));
	int res;

	if (!sinker)
		return err__set(err, ENOMEM, "out of memory");
	sinker->opts = *opts;
	sinker->not_watched = (struct not_watched){
		.left_alone = &sinker->left_alone,
		.parks = opts->parks,
		.losses = opts->losses,
		.workers = opts->workers,
	};
	sinker->places = idle_places__new(opts->symbolizer);
	sinker->left_alone.parks = opts->parks;
	sinker->left_alone.choice = opts->found ? NULL : opts->choice;
	sinker->probation = probation__new(on_certain, leave_out, sinker);
	if (!sinker->places || !sinker->probation) {
		free_parts(sinker);
		return err__set(err, ENOMEM, "out of memory");
	}
	sinker->nice = getpriority(PRIO_PROCESS, 0);
	res = thread__start(&sinker->thread, "jankbpf-sink", run, sinker);
	if (res) {
		free_parts(sinker);
		return err__set(err, -res, "cannot start a thread: %s", strerror(-res));
	}
	*ret = sinker;
	return 0;
}

static bool join(struct sink_thread *sinker, uint64_t patience_ns)
{
	uint64_t until = clock__real_ns() + patience_ns;
	const struct timespec at = { .tv_sec = until / NS_PER_SEC, .tv_nsec = until % NS_PER_SEC };

	if (patience_ns)
		return !pthread_timedjoin_np(sinker->thread, NULL, &at);
	return !pthread_join(sinker->thread, NULL);
}

bool sink_thread__finish(struct sink_thread *sinker, uint64_t patience_ns)
{
	const struct item stop = { .kind = ITEM_STOP };

	if (!sinker)
		return true;
	if (!sinker->ending) {
		make_way(sinker, false);
		sinker->hurry_ns = clock__mono_ns() + HURRY_NS;
		queue__put(sinker->opts.queue, &stop);
	}
	sinker->ending = true;
	if (!join(sinker, patience_ns))
		return false;
	free_parts(sinker);
	return true;
}
