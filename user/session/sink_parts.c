/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the sink thread: open, close, and what a process's start and end mean to each. */
#include <errno.h>

#include "base/log.h"
#include "enrich/block_facts.h"
#include "journal/answers.h"
#include "session/sink_thread.h"

static int name_live(void *ctx, uint32_t pid, struct stack *const *stacks, size_t cnt)
{
	return symbolizer__stacks(ctx, pid, stacks, cnt);
}

static uint64_t cut_cnt(void *ctx)
{
	return symbolizer__cut_cnt(ctx);
}

static int open_output(struct sink_parts *parts, const struct sink_parts_opts *opts,
		       struct err *err)
{
	const struct namer namer = { .name = name_live,
				     .cut_cnt = cut_cnt,
				     .ctx = parts->symbolizer,
				     .name_untraced = untraced_procs__name,
				     .untraced_ctx = parts->untraced_procs,
				     .message = message_names__fill,
				     .message_ctx = &parts->message_names,
				     .wait_objects = block_waits__name,
				     .wait_objects_ctx = parts->symbolizer,
				     .callers = stack_cache__fill,
				     .callers_ctx = parts->stack_cache };

	const struct output_opts output = { .options = opts->opts,
					    .namer = &namer,
					    .journal = parts->journal,
					    .deliver = opts->deliver,
					    .react = opts->react,
					    .names = opts->names,
					    .losses = parts->losses,
					    .histories = parts->histories };

	return output__new(&output, &parts->output, err);
}

/* False: out of memory. */
static bool open_caches(struct sink_parts *parts)
{
	parts->loop_owner = loop_owner__new(parts->catalogue, parts->symbolizer);
	parts->interp_threads = interp_threads__new(&parts->interp_bpf_fds, parts->symbolizer);
	parts->idle_places = idle_places__new(parts->symbolizer);
	parts->parks = parks__new(&parts->park_bpf_fds, parts->loop_owner, parts->interp_threads,
				  parts->idle_places);
	parts->untraced_procs = untraced_procs__new(parts->symbolizer);
	parts->applications = applications__new();
	if (!parts->untraced_procs || !parts->applications)
		return false;
	parts->stack_cache = stack_cache__new(parts->symbolizer, parts->untraced_procs,
					      &parts->copy_bpf_fds, parts->losses);
	return parts->loop_owner && parts->interp_threads && parts->parks && parts->idle_places &&
	       parts->stack_cache;
}

int sink_parts__open(struct sink_parts *parts, const struct sink_parts_opts *opts, struct err *err)
{
	const struct options *options = opts->opts;
	bool lists_loops = options->command == CMD_LOOPS;
	int res;

	parts->catalogue = opts->catalogue;
	parts->choice = opts->choice;
	parts->losses = opts->losses;
	parts->find_waits = !options->filter.all;
	parts->workers = options->workers;
	res = name_client__open(opts->names, &opts->debug_files, &parts->symbolizer, err);
	if (!res && opts->deliver) /* it opens the sinks and creates the journal */
		res = deliver__open(opts->deliver, err);
	if (!res && opts->deliver && options->journal)
		res = journal_writer__new(deliver__take_journal(opts->deliver), &parts->journal,
					  err);
	if (!res && options->record_ns)
		parts->histories = histories__new(options->record_ns, parts->losses);
	if (!res && (!open_caches(parts) || (options->record_ns && !parts->histories)))
		res = err__set(err, ENOMEM, "out of memory");
	if (res)
		return res;
	parts->uv_pools = uv_pools__new(parts->symbolizer, options->threshold_ns,
					options->command == CMD_AGENT);
	if (!parts->uv_pools)
		return err__set(err, ENOMEM, "out of memory");
	parts->message_names = (struct message_names){ parts->symbolizer, parts->catalogue };
	parts->left_alone.parks = parts->parks;
	parts->left_alone.forgets = options->command == CMD_AGENT;
	parts->left_alone.choice = lists_loops ? NULL : parts->choice;
	parts->not_watched = (struct not_watched){
		.left_alone = &parts->left_alone,
		.parks = parts->parks,
		.losses = parts->losses,
		.workers = parts->workers,
	};
	return open_output(parts, opts, err);
}

void sink_parts__close(struct sink_parts *parts)
{
	histories__free(parts->histories);
	history_buffers__close(&parts->history_buffers);
	name_hint__free(&parts->name_hint);
	not_watched__free(&parts->not_watched);
	left_alone__free(&parts->left_alone);
	probation__free(parts->probation);
	idle_places__free(parts->idle_places);
	output__free(parts->output);
	journal_writer__free(parts->journal);
	park_bpf_fds__close(&parts->park_bpf_fds);
	opening_bpf_fds__close(&parts->opening_bpf_fds);
	parks__free(parts->parks);
	loop_owner__free(parts->loop_owner);
	stack_cache__free(parts->stack_cache);
	copy_bpf_fds__close(&parts->copy_bpf_fds);
	interp_threads__free(parts->interp_threads);
	interp_bpf_fds__close(&parts->interp_bpf_fds);
	untraced_procs__free(parts->untraced_procs);
	uv_pools__free(parts->uv_pools);
	applications__free(parts->applications);
	symbolizer__free(parts->symbolizer);
}

/* --- a process's program and its end, in each part that has state for it */

static void lose(struct sink_parts *parts, int res, enum user_loss loss)
{
	if (res)
		losses__add(parts->losses, loss, 1);
}

static void read_mappings(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	struct err err = {};
	int res = symbolizer__process(parts->symbolizer, process->pid, &err);

	if (res && res != -ESRCH)
		log__verbose("process %u: names may be missing: %s", process->pid, err.msg);
}

static void drop_mappings(struct sink_parts *parts, uint32_t pid)
{
	symbolizer__process_gone(parts->symbolizer, pid);
}

void sink_parts__on_thread(struct sink_parts *parts, uint32_t pid, uint32_t tid)
{
	int res = interp_threads__update(parts->interp_threads, pid, tid);

	lose(parts, res != -E2BIG ? res : 0, LOSS_NO_MEMORY);
}

static void drop_interpreter(struct sink_parts *parts, uint32_t pid)
{
	interp_threads__on_exit(parts->interp_threads, pid);
}

static void renew_interpreter(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	drop_interpreter(parts, process->pid); /* of the previous program */
	sink_parts__on_thread(parts, process->pid, process->pid);
}

static void drop_stacks(struct sink_parts *parts, uint32_t pid)
{
	stack_cache__on_exit(parts->stack_cache, pid);
}

static void find_program(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	lose(parts, loop_owner__program(parts->loop_owner, process->pid), LOSS_NO_MEMORY);
}

static void drop_loops(struct sink_parts *parts, uint32_t pid)
{
	loop_owner__on_exit(parts->loop_owner, pid);
}

static void drop_idle_places(struct sink_parts *parts, uint32_t pid)
{
	idle_places__on_exit(parts->idle_places, pid);
}

static void end_probation(struct sink_parts *parts, uint32_t pid)
{
	probation__on_exit(parts->probation, pid);
}

static void leave_alone(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	lose(parts,
	     left_alone__update(&parts->left_alone, process,
				loop_owner__program_row(parts->loop_owner, process->pid)),
	     LOSS_NO_MEMORY);
}

static void drop_left_alone(struct sink_parts *parts, uint32_t pid)
{
	left_alone__on_exit(&parts->left_alone, pid);
}

/* Skips programs known by themselves: they have parks of their own, or are left alone (Go). */
static void find_waits(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	uint32_t pid = process->pid;
	int res;

	if (!parts->find_waits)
		return;
	res = parks__find_waits(parts->parks, pid, process->exe);
	if (!res && !loop_owner__row(parts->loop_owner, pid, pid, JANK_LOOP_PARK))
		res = parks__watch_idle(parts->parks, pid, parts->workers);
	lose(parts, res, LOSS_NO_MEMORY);
}

static void drop_parks(struct sink_parts *parts, uint32_t pid)
{
	parks__on_exit(parts->parks, pid);
}

static void drop_application(struct sink_parts *parts, uint32_t pid)
{
	applications__on_exit(parts->applications, pid);
}

static void drop_pool(struct sink_parts *parts, uint32_t pid)
{
	lose(parts, uv_pools__on_exit(parts->uv_pools, pid), LOSS_NO_MEMORY);
}

static void journal_process(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	if (parts->journal)
		lose(parts, journal__add_process(parts->journal, process), LOSS_JOURNAL);
}

static void drop_answers(struct sink_parts *parts, uint32_t pid)
{
	output__on_exit(parts->output, pid);
}

static void keep_name(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	not_watched__on_process(&parts->not_watched, process);
}

static void keep_unwatched(struct sink_parts *parts, uint32_t pid)
{
	not_watched__on_exit(&parts->not_watched, pid);
}

/*
 * A part of this thread with state for each process is one row; NULL: nothing to do. A row may use
 * the rows before it: programs run down the table, exits run up.
 */
static const struct sink_module {
	void (*on_program)(struct sink_parts *parts, const Jankbpf__Identity *process);
	void (*on_exit)(struct sink_parts *parts, uint32_t pid);
} modules[] = {
	{ read_mappings, drop_mappings },	 /* symbol/names/symbolize.h */
	{ NULL, drop_application },		 /* enrich/applications.h; read by sink_thread.c */
	{ renew_interpreter, drop_interpreter }, /* enrich/interp_threads.h */
	{ NULL, drop_stacks },			 /* enrich/stack_cache.h */
	{ find_program, drop_loops },		 /* catalogue/loop_owner.h */
	{ NULL, drop_idle_places },		 /* catalogue/idle_places.h */
	{ NULL, end_probation },		 /* session/probation.h */
	{ leave_alone, drop_left_alone },	 /* not_watched.c */
	{ find_waits, drop_parks },		 /* enrich/parks.h */
	{ NULL, drop_pool },			 /* enrich/uv_pools.h */
	{ journal_process, drop_answers },	 /* journal/answers_writer.h */
	{ keep_name, keep_unwatched },		 /* not_watched.c */
};

#define MODULE_CNT (sizeof(modules) / sizeof(*modules))

void sink_parts__on_program(struct sink_parts *parts, const Jankbpf__Identity *process)
{
	for (size_t i = 0; i < MODULE_CNT; i++)
		if (modules[i].on_program)
			modules[i].on_program(parts, process);
}

void sink_parts__on_exit(struct sink_parts *parts, uint32_t pid)
{
	for (size_t i = MODULE_CNT; i--;)
		if (modules[i].on_exit)
			modules[i].on_exit(parts, pid);
}
