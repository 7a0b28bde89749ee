/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One loop over the items of the queue. */
#include "session/sink_thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/proto.h"
#include "base/thread.h"
#include "enrich/block_facts.h"
#include "journal/answers.h"
#include "model/block.h"
#include "session/nested_turns.h"
#include "session/rests.h"

/*
 * At the end of a run, waiting items are named and written in full for this long. After that,
 * blocks are written without their stacks.
 */
#define HURRY_NS NS_PER_SEC

/*
 * The traced program has priority: docs/decisions/priorities.md has figures. When items wait behind
 * other programs for BEHIND_NS, the thread gets the usual share. After FAR_BEHIND_NS it gets
 * more: a thousand runnable threads of one user leave a usual thread a thousandth of the CPU.
 */
#define BEHIND_NICE	19
#define BEHIND_NS	(250 * NS_PER_MS)
#define FAR_BEHIND_NICE (-5)
#define FAR_BEHIND_NS	NS_PER_SEC
#define HURRY_NICE	(-10) /* at the end of the run nothing is traced any more */

#define AT_ONCE 1 /* a time that is past */

#define UV_ROW "libuv" /* a process with a loop of this row, or of one over it, has a pool */

struct sink_thread {
	struct sink_thread_opts opts;
	struct sink_parts *parts;  /* of opts */
	_Atomic uint64_t hurry_ns; /* deadline for full output; 0: the run continues */
	pthread_t thread;
	_Atomic pid_t tid;     /* 0: not started yet */
	_Atomic bool urged;    /* its niceness is no longer that of offset */
	_Atomic bool prepares; /* the item at hand does not wait for the work on it */
	uint64_t unwaited_ns;  /* no item waited then */
	int nice;	       /* of the process */
	int offset;	       /* of the thread's niceness to it */
	uint64_t block_cnt;
	bool leases_reported;
	bool closed;			 /* stdout has no reader */
	bool ending;			 /* ITEM_STOP is queued */
	struct unwatched_list unwatched; /* for the next interval */
	bool unwatched_known;		 /* a look has ended; it found: */
	uint64_t unwatched_cnt;
	struct rests rests;
};

static void check(struct sink_thread *sink, int res)
{
	if (res != -EPIPE || sink->closed)
		return;
	sink->closed = true;
	eventfd_write(sink->opts.closed_fd, 1);
}

static void lose(struct sink_thread *sink, int res, enum user_loss loss)
{
	if (res)
		losses__add(sink->parts->losses, loss, 1);
}

/* The same, and the block's record says so. */
static void lose_of(struct sink_thread *sink, int res, struct block *block)
{
	lose(sink, res, LOSS_NO_MEMORY);
	if (res)
		block__add_loss(block, LOSS_NO_MEMORY, 1);
}

static bool is_full(const struct sink_thread *sink)
{
	return sink->opts.count && sink->block_cnt >= sink->opts.count;
}

/* Checks -l; enters the parks of the loop's process for the probes. */
static bool takes(struct sink_thread *sink, uint32_t pid, const struct catalogue_row *row,
		  uint32_t loop)
{
	if (!loop_choice__takes(sink->parts->choice, row, loop))
		return false;
	lose(sink, parks__update(sink->parts->parks, pid, row), LOSS_NO_MEMORY);
	return true;
}

/* The owner of the loop is known here: -l selects by it, and -n counts the rest. */
static enum not_shown_reason why_unwanted(struct sink_thread *sink, struct block *block)
{
	enum not_shown_reason reason;
	const struct catalogue_row *row =
		loop_owner__row(sink->parts->loop_owner, block->pid, block->tid, block->loop);

	if (row)
		block->loop_name = row->name;
	reason = block__obey(block, output__options(sink->parts->output));
	if (reason != SHOWN)
		return reason;
	if (is_full(sink))
		return NOT_SHOWN_COUNT;
	return takes(sink, block->pid, row, block->loop) ? SHOWN : NOT_SHOWN_LOOP;
}

/*
 * Also enters the threads that were waited for, for the next time. If their stacks were named, the
 * tids still belong to the same threads.
 */
static void on_chain(struct sink_thread *sink, const struct block *block)
{
	for (size_t i = 0; i < block->chain_cnt; i++) {
		const struct other_task *task = &block->chain[i].task;

		if (symbolizer__knows(sink->parts->symbolizer, task->pid))
			sink_parts__on_thread(sink->parts, task->pid, task->tid);
	}
}

static bool hurries(const struct sink_thread *sink)
{
	return sink->hurry_ns && clock__mono_ns() > sink->hurry_ns;
}

/*
 * The traced program determines the amount of naming work; a user who ends the run must not wait
 * for it.
 */
static void drop_evidence(struct sink_thread *sink, struct block *block)
{
	size_t cnt = block__drop_evidence(block);

	losses__add(sink->parts->losses, LOSS_SAMPLES_CAPPED, cnt);
	lose(sink, block__add_loss(block, LOSS_SAMPLES_CAPPED, cnt), LOSS_NO_MEMORY);
}

static void leave_out(struct sink_thread *sink, struct block *block, enum not_shown_reason reason)
{
	output__left_out(sink->parts->output, block, reason);
	block__free(block);
}

/* The thread was not on probation for a loop that it is in. */
static void on_unproven(void *ctx, struct block *block)
{
	leave_out(ctx, block, NOT_SHOWN_PROBATION);
}

/*
 * Was the thread idle, for all that is known now? What is no block for that reason is no dispatch
 * in the counts, either.
 */
static enum not_shown_reason why_rest(const struct sink_thread *sink, const struct block *block)
{
	if (block__is_startup(block)) /* it ended where its rests begin */
		return SHOWN;
	if (parks__is_early(sink->parts->parks, block))
		return NOT_SHOWN_EARLY;
	return idle_places__rests(sink->parts->idle_places, block) ||
			       parks__rests(sink->parts->parks, block)
		       ? NOT_SHOWN_RESTS
		       : SHOWN;
}

/* Reports a block that is no longer on probation and is wanted. */
static void report_block(struct sink_thread *sink, struct block *block)
{
	enum not_shown_reason reason = why_rest(sink, block);

	if (reason != SHOWN) {
		lose(sink, rests__add(&sink->rests, block), LOSS_NO_MEMORY);
		leave_out(sink, block, reason);
		return;
	}
	check(sink, output__block(sink->parts->output, block));
	name_hint__look(&sink->parts->name_hint, block);
	on_chain(sink, block);
	sink->block_cnt = output__block_cnt(sink->parts->output);
	if (is_full(sink))
		eventfd_write(sink->opts.closed_fd, 1);
	block__free(block);
}

/* Handles a block from probation once its loop is certain. */
static void on_certain(void *ctx, struct block *block)
{
	struct sink_thread *sink = ctx;

	enum not_shown_reason reason;

	lose_of(sink, idle_places__fill(sink->parts->idle_places, block), block);
	reason = why_unwanted(sink, block);
	if (reason == SHOWN)
		report_block(sink, block);
	else
		leave_out(sink, block, reason);
}

/* 0 or -ENOMEM */
static int name_application(struct sink_thread *sink, uint32_t pid, Jankbpf__Identity **ret)
{
	const Jankbpf__Identity *found = applications__look_again(sink->parts->applications, pid);
	const Jankbpf__Identity *app = applications__of(sink->parts->applications, pid);

	if (found && sink->parts->journal)
		lose(sink, journal__add_process(sink->parts->journal, found), LOSS_JOURNAL);
	if (app && !*ret)
		*ret = identity__new();
	if (!app)
		return 0;
	return *ret ? identity__set_application(*ret, app) : -ENOMEM;
}

static void enrich(struct sink_thread *sink, struct block *block)
{
	lose_of(sink, block_facts__fill(block), block);
	lose_of(sink, name_application(sink, block->pid, &block->process), block);
	lose_of(sink, idle_places__fill(sink->parts->idle_places, block), block);
	output__enrich(sink->parts->output, block);
}

static void on_block(struct sink_thread *sink, struct item *item)
{
	struct block *block = item->data;
	enum not_shown_reason reason;

	if (hurries(sink))
		drop_evidence(sink, block);
	sink_parts__on_thread(sink->parts, block->pid, block->tid);
	reason = block->trial ? SHOWN : why_unwanted(sink, block);
	if (reason != SHOWN) {
		leave_out(sink, block, reason);
	} else {
		enrich(sink, block);
		if (block->trial)
			probation__hold(sink->parts->probation, block, clock__mono_ns());
		else
			report_block(sink, block);
	}
	symbolizer__trim(sink->parts->symbolizer);
}

static void watch_pool(struct sink_thread *sink, const struct jank_rec_wait *rec)
{
	const struct catalogue_row *row =
		loop_owner__row(sink->parts->loop_owner, rec->hdr.tgid, rec->hdr.tid, rec->loop);

	if (row && loop_choice__takes(sink->parts->choice, row, rec->loop) &&
	    (!strcmp(row->id, UV_ROW) || (row->over && !strcmp(row->over, UV_ROW))))
		lose(sink, uv_pools__add(sink->parts->uv_pools, rec->hdr.tgid, rec->hdr.tid),
		     LOSS_NO_MEMORY);
}

static void record_loop(struct sink_thread *sink, const struct wait_note *note)
{
	const struct jank_rec_wait *rec = &note->rec;
	struct loop_owner *loop_owner = sink->parts->loop_owner;

	sink_parts__on_thread(sink->parts, rec->hdr.tgid, rec->hdr.tid);
	lose(sink, idle_places__record(sink->parts->idle_places, note), LOSS_NO_MEMORY);
	if (loop_owner__record(loop_owner, note))
		losses__add(sink->parts->losses, LOSS_NO_MEMORY, 1);
	else if (sink->opts.eager)
		takes(sink, rec->hdr.tgid,
		      loop_owner__row(loop_owner, rec->hdr.tgid, rec->hdr.tid, rec->loop),
		      rec->loop);
	watch_pool(sink, rec);
}

/*
 * Reads the tables now that naming a block of the thread would need first: 30 to 120 ms of CPU that
 * its program may want then. Not for all of a machine: most processes have no block.
 */
static void prepare(struct sink_thread *sink, uint32_t pid, uint32_t tid)
{
	sink->prepares = true;
	for (size_t i = 0; i < sink->opts.prepared_cnt; i++)
		if ((uint32_t)sink->opts.prepared[i] == pid)
			lose(sink, idle_places__prepare(sink->parts->idle_places, pid, tid),
			     LOSS_NO_MEMORY);
	sink->prepares = false;
}

static void on_wait(struct sink_thread *sink, struct item *item)
{
	const struct wait_note *note = item->data;

	if (!parks__asks(&note->rec)) {
		record_loop(sink, note);
		prepare(sink, note->rec.hdr.tgid, note->rec.hdr.tid);
		probation__confirm(sink->parts->probation, note->rec.hdr.tid, note->rec.hdr.flags,
				   clock__mono_ns());
	} else {
		sink_parts__on_thread(sink->parts, note->rec.hdr.tgid, note->rec.hdr.tid);
		lose(sink, parks__answer(sink->parts->parks, note), LOSS_NO_MEMORY);
	}
	wait_note__free(item->data);
}

/* What the lists of the intake thread lack. */
static void complete_unwatched(struct sink_thread *sink, struct unwatched_list *list)
{
	not_watched__complete(&sink->parts->not_watched, list);
	lose(sink, nested_turns__list(output__nested(sink->parts->output), list), LOSS_NO_MEMORY);
	lose(sink, uv_pools__list(sink->parts->uv_pools, list), LOSS_NO_MEMORY);
}

/* With --interval, the next one has the list. */
static void on_unwatched(struct sink_thread *sink, struct item *item)
{
	const struct unwatched_list *list = item->data;

	complete_unwatched(sink, item->data);
	if (!sink->unwatched_known) /* an agent looks again and again */
		not_watched__report(&sink->parts->not_watched, item->data);
	sink->unwatched_known = true;
	sink->unwatched_cnt = list->cnt + list->more_cnt;
	unwatched__free(&sink->unwatched);
	sink->unwatched = (struct unwatched_list){};
	if (sink->opts.intervals)
		sink->unwatched = *(struct unwatched_list *)item->data;
	else
		unwatched__free(item->data);
	free(item->data);
}

/* Sets the loop's name. False: it is switched off; *ret_row is its row. */
static bool is_on(struct sink_thread *sink, struct loop_hist *loop,
		  const struct catalogue_row **ret_row)
{
	const struct catalogue_row *row =
		loop_owner__process_row(sink->parts->loop_owner, loop->pid, loop->loop);

	loop->loop_name = row ? row->name : NULL;
	*ret_row = row;
	return !row || !row->is_off || loop_choice__takes(sink->parts->choice, row, loop->loop);
}

static void name_interval(struct sink_thread *sink, struct interval *interval)
{
	const struct catalogue_row *row;
	size_t cnt = 0;

	for (size_t i = 0; i < interval->loop_cnt; i++) {
		struct loop_hist *loop = &interval->loops[i];

		if (!is_on(sink, loop, &row)) {
			loop_hist__clear(loop);
			continue;
		}
		lose(sink, name_application(sink, loop->pid, &loop->process), LOSS_NO_MEMORY);
		interval->loops[cnt++] = *loop;
	}
	interval->loop_cnt = cnt;
	for (size_t i = 0; i < interval->open_cnt; i++) {
		struct open_dispatch *open = &interval->open[i];

		row = loop_owner__row(sink->parts->loop_owner, open->pid, open->tid, open->loop);
		open->loop_name = row ? row->name : NULL;
	}
}

static void on_interval(struct sink_thread *sink, struct item *item)
{
	struct interval *interval = item->data;

	loop_owner__resolve_all(sink->parts->loop_owner);
	rests__set_interval(&sink->rests, interval);
	name_interval(sink, interval);
	interval->unwatched = sink->unwatched;
	if (sink->unwatched_known)
		SET(&interval->facts, not_watched_count, sink->unwatched_cnt);
	sink->unwatched = (struct unwatched_list){};
	check(sink, output__interval(sink->parts->output, interval));
	interval__free(interval);
	free(interval);
	stack_cache__rest(sink->parts->stack_cache, clock__mono_ns());
	symbolizer__rest(sink->parts->symbolizer, clock__mono_ns());
	alloc__trim(); /* lists of a machine's processes are large */
}

/* Omits loops that are switched off. */
static bool takes_loop(struct sink_thread *sink, struct summary *summary, struct loop_hist *loop)
{
	const struct catalogue_row *row;

	if (is_on(sink, loop, &row))
		return true;
	summary->dispatch_cnt -= loop->dispatch_cnt;
	not_watched__add_off(&sink->parts->not_watched, &summary->unwatched, loop->pid,
			     identity__name(loop->process) ?: "?", row);
	loop_hist__clear(loop);
	return false;
}

static void name_loops(struct sink_thread *sink, struct summary *summary)
{
	size_t cnt = 0;

	loop_owner__resolve_all(sink->parts->loop_owner);
	for (size_t i = 0; i < summary->loop_cnt; i++)
		if (takes_loop(sink, summary, &summary->loops[i]))
			summary->loops[cnt++] = summary->loops[i];
	summary->loop_cnt = cnt;
}

static void on_summary(struct sink_thread *sink, struct item *item)
{
	struct summary *summary = item->data;

	probation__end(sink->parts->probation);
	if (sink->opts.at_end)
		sink->opts.at_end(sink->opts.at_end_ctx, sink->parts->loop_owner);
	complete_unwatched(sink, &summary->unwatched);
	rests__set_summary(&sink->rests, summary);
	name_loops(sink, summary);
	if (sink->opts.report_unwatched && !sink->parts->not_watched.reported)
		not_watched__report(&sink->parts->not_watched, &summary->unwatched);
	check(sink, histories__finish(sink->parts->histories, output__history, sink->parts->output,
				      summary->histories.stop_ns, &summary->histories));
	if (sink->parts->journal && journal__add_end(sink->parts->journal, item->data))
		losses__add(sink->parts->losses, LOSS_JOURNAL, 1);
	check(sink, output__summary(sink->parts->output, item->data));
	summary__free(item->data);
	free(item->data);
}

static void on_raw(struct sink_thread *sink, struct item *item)
{
	lose(sink, journal_writer__raw(sink->parts->journal, item->data, item->size), LOSS_JOURNAL);
	free(item->data);
}

static void on_copy(struct sink_thread *sink, struct item *item)
{
	int res;

	if (hurries(sink)) {
		losses__add(sink->parts->losses, JANK_LOST_COPY, 1);
		free(item->data);
		return;
	}
	res = stack_cache__take(sink->parts->stack_cache, item->data, item->size);
	if (res)
		losses__add(sink->parts->losses, res == -ENOMEM ? LOSS_NO_MEMORY : LOSS_BAD_RECORD,
			    1);
}

static void unwind_copies(struct sink_thread *sink)
{
	lose(sink, stack_cache__unwind(sink->parts->stack_cache), LOSS_NO_MEMORY);
}

/* Warns once: a process that holds leases on purpose holds many. */
static void report_leases(struct sink_thread *sink)
{
	uint64_t cnt;
	const char *path = symbolizer__leased(sink->parts->symbolizer, &cnt);

	if (!path || sink->leases_reported)
		return;
	sink->leases_reported = true;
	log__warn("'%s': another process holds a lease on it%s: names are missing until it is "
		  "given up",
		  path, cnt > 1 ? ", and on other files" : "");
}

static void on_process(struct sink_thread *sink, struct item *item)
{
	output__saw(sink->parts->output, item->pid);
	lose(sink, applications__read(sink->parts->applications, item->data), LOSS_NO_MEMORY);
	sink_parts__on_program(sink->parts, item->data);
	report_leases(sink);
	identity__free(item->data);
	prepare(sink, item->pid, item->pid);
}

static void look_for_interp(struct sink_thread *sink)
{
	int res = interp_threads__look(sink->parts->interp_threads);

	if (res && res != -E2BIG)
		losses__add(sink->parts->losses, LOSS_NO_MEMORY, 1);
}

static void write_histories(struct sink_thread *sink)
{
	check(sink, histories__write(sink->parts->histories, output__history, sink->parts->output,
				     clock__mono_ns()));
}

/* Times of CLOCK_MONOTONIC; 0: never. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

static bool is_due(uint64_t due_ns)
{
	return due_ns && clock__mono_ns() >= due_ns;
}

/*
 * Waits for an item; looks for new interpreter threads, looks at libuv's pools and writes histories
 * meanwhile. Copies come in groups, and are unwound when the queue has no more of them.
 */
static void next(struct sink_thread *sink, struct item *ret)
{
	struct interp_threads *interp = sink->parts->interp_threads;

	for (;;) {
		uint64_t interp_ns = interp_threads__due_ns(interp);
		uint64_t history_ns = histories__due_ns(sink->parts->histories);
		uint64_t pool_ns = uv_pools__due_ns(sink->parts->uv_pools);
		bool has_copies = stack_cache__waits(sink->parts->stack_cache);

		if (is_due(history_ns))
			write_histories(sink);
		else if (is_due(interp_ns))
			look_for_interp(sink);
		else if (is_due(pool_ns))
			uv_pools__look(sink->parts->uv_pools);
		else if (queue__get(sink->opts.queue,
				    has_copies ? AT_ONCE
					       : earlier(earlier(interp_ns, history_ns), pool_ns),
				    ret))
			return;
		else
			unwind_copies(sink);
	}
}

static void on_map(struct sink_thread *sink, struct item *item)
{
	if (item->data)
		symbolizer__mapped(sink->parts->symbolizer, item->pid, item->data);
	else if (symbolizer__knows(sink->parts->symbolizer, item->pid))
		symbolizer__process(sink->parts->symbolizer, item->pid, NULL);
	free(item->data);
	report_leases(sink);
}

/* Also of the processes that work for it. */
static void apply_nice(struct sink_thread *sink, pid_t tid, int offset)
{
	const pid_t tids[] = { tid, deliver__pid(sink->opts.deliver),
			       name_client__pid(sink->opts.names) };

	sink->offset = offset;
	for (size_t i = 0; i < sizeof(tids) / sizeof(*tids); i++)
		if (tids[i])
			thread__set_nice(tids[i], sink->nice + offset);
}

static void set_nice(struct sink_thread *sink, int offset)
{
	if (sink->tid && (atomic_exchange(&sink->urged, false) || sink->offset != offset))
		apply_nice(sink, sink->tid, offset);
}

/* The thread may have lost the CPU to the traced program while it had the queue's lock. */
static void urge(void *ctx)
{
	struct sink_thread *sink = ctx;

	if (!sink->tid || sink->tid == gettid())
		return;
	thread__set_nice(sink->tid, sink->nice);
	sink->urged = true;
}

void sink_thread__pace(struct sink_thread *sink)
{
	uint64_t now_ns = clock__mono_ns(), since_ns = queue__busy_ns(sink->opts.queue), late_ns;

	if (!since_ns || (sink->prepares && !queue__bytes(sink->opts.queue)))
		sink->unwaited_ns = now_ns;
	late_ns = now_ns - (since_ns > sink->unwaited_ns ? since_ns : sink->unwaited_ns);
	if (late_ns < BEHIND_NS)
		set_nice(sink, BEHIND_NICE);
	else
		set_nice(sink, late_ns < FAR_BEHIND_NS ? 0 : FAR_BEHIND_NICE);
}

static void handle(struct sink_thread *sink, struct item *item)
{
	if (item->kind != ITEM_COPY)
		unwind_copies(sink);
	switch (item->kind) {
	case ITEM_BLOCK:
		on_block(sink, item);
		break;
	case ITEM_SUMMARY:
		on_summary(sink, item);
		break;
	case ITEM_INTERVAL:
		on_interval(sink, item);
		break;
	case ITEM_RAW:
		on_raw(sink, item);
		break;
	case ITEM_PROCESS:
		on_process(sink, item);
		break;
	case ITEM_WAIT:
		on_wait(sink, item);
		break;
	case ITEM_UNWATCHED:
		on_unwatched(sink, item);
		break;
	case ITEM_COPY:
		on_copy(sink, item);
		break;
	case ITEM_LOOK:
		lose(sink, handler_look__judge(sink->parts, item->data), LOSS_NO_MEMORY);
		free(item->data);
		break;
	case ITEM_MAP:
		on_map(sink, item);
		break;
	case ITEM_MAIN:
		lose(sink, parks__watch_idle(sink->parts->parks, item->pid, false), LOSS_NO_MEMORY);
		break;
	case ITEM_PROCESS_GONE:
		sink_parts__on_exit(sink->parts, item->pid);
		break;
	case ITEM_OPTIONS:
		output__adapt(sink->parts->output, item->data);
		break;
	case ITEM_STOP:
		break;
	}
	if (!queue__bytes(sink->opts.queue))
		symbolizer__flush(sink->parts->symbolizer);
	output__count_restarts(sink->parts->output);
}

static void *run(void *arg)
{
	struct sink_thread *sink = arg;
	struct item item;

	apply_nice(sink, gettid(), BEHIND_NICE);
	name_client__use_here(sink->opts.names);
	sink->tid = gettid(); /* from here on sink_thread__pace sets the priority */
	do {
		next(sink, &item);
		handle(sink, &item);
	} while (item.kind != ITEM_STOP);
	return NULL;
}

int sink_thread__start(const struct sink_thread_opts *opts, struct sink_thread **ret,
		       struct err *err)
{
	struct sink_thread *sink = calloc(1, sizeof(*sink));
	int res;

	if (!sink)
		return err__set(err, ENOMEM, "out of memory");
	sink->opts = *opts;
	sink->parts = opts->parts;
	sink->parts->probation = probation__new(on_certain, on_unproven, sink);
	if (!sink->parts->probation) {
		free(sink);
		return err__set(err, ENOMEM, "out of memory");
	}
	sink->nice = getpriority(PRIO_PROCESS, 0);
	queue__on_contention(opts->queue, urge, sink);
	res = thread__start(&sink->thread, "jankbpf-sink", run, sink);
	if (res) {
		free(sink);
		return err__set(err, -res, "cannot start a thread: %s", strerror(-res));
	}
	*ret = sink;
	return 0;
}

static bool join(struct sink_thread *sink, uint64_t patience_ns)
{
	uint64_t until = clock__real_ns() + patience_ns;
	const struct timespec at = { .tv_sec = until / NS_PER_SEC, .tv_nsec = until % NS_PER_SEC };

	if (patience_ns)
		return !pthread_timedjoin_np(sink->thread, NULL, &at);
	return !pthread_join(sink->thread, NULL);
}

void sink_thread__hurry(struct sink_thread *sink)
{
	if (!sink || sink->hurry_ns)
		return;
	set_nice(sink, HURRY_NICE);
	name_client__hurry(sink->opts.names);
	sink->hurry_ns = clock__mono_ns() + HURRY_NS;
}

bool sink_thread__finish(struct sink_thread *sink, uint64_t patience_ns)
{
	const struct item stop = { .kind = ITEM_STOP };

	if (!sink)
		return true;
	if (!sink->ending) {
		sink_thread__hurry(sink);
		queue__put(sink->opts.queue, &stop);
	}
	sink->ending = true;
	if (!join(sink, patience_ns))
		return false;
	probation__end(sink->parts->probation); /* its blocks go through the thread's state */
	unwatched__free(&sink->unwatched);
	rests__free(&sink->rests);
	free(sink);
	return true;
}
