/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Array of sinks: a failing sink does not keep the record from the others. */
#include "session/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "deliver/sinks.h"
#include "export/record/faults.h"
#include "export/record/record.h"
#include "files/apart.h"
#include "files/unread.h"
#include "journal/answers.h"
#include "model/chain/chain.h"
#include "model/concern.h"
#include "model/hist.h"
#include "model/stack.h"
#include "session/histories.h"
#include "session/nested_turns.h"
#include "session/reported.h"
#include "symbol/languages/r8_mapping.h"
#include "verdict/blame.h"

#define IGNORED_MAX 64 /* patterns: --ignore takes half as many */
struct output {
	struct namer namer;
	struct answers_writer *answers; /* NULL: no journal */
	struct journal_writer *journal; /* NULL: none; borrowed */
	struct losses *losses;
	struct record *builder;	     /* of the record that all sinks get */
	struct deliver *deliver;     /* the process with the sinks; borrowed. NULL: they are here */
	struct react *react;	     /* the process that runs commands; borrowed. NULL: none */
	struct histories *histories; /* borrowed; NULL: none */
	struct sinks sinks;
	bool complained[SINK_MAX];
	uint64_t restart_cnt;  /* of the process, as counted in losses */
	uint64_t dropped;      /* by sinks, as of the last record */
	uint64_t told_dropped; /* in intervals */
	const struct name_client *names;
	uint64_t name_restart_cnt; /* the same of that process */
	struct reported reported;
	struct faults *faults;
	struct limits *limits; /* NULL: the command has none */
	enum fault_order order;
	const char *sig;	       /* NULL: all blocks */
	const struct options *options; /* borrowed */
	struct live_options *live;     /* holds them; NULL: they are those of the start */
	struct not_shown not_shown;
	struct ignored *ignored; /* one for each --ignore, then the `gone_cnt` former ones */
	size_t gone_cnt;
	struct nested_turns *nested;
	struct r8_mapping *mapping; /* NULL: none */
	struct stack **own;	    /* while a block is named: stacks of its process */
	size_t own_cnt;
};

/* NULL: out of memory. */
static struct ignored *ignored_of(const struct options *opts)
{
	struct ignored *ret = calloc(IGNORED_MAX, sizeof(*ret));

	for (size_t i = 0; ret && i < opts->ignore_cnt; i++) {
		ret[i].pattern = strdup(opts->ignore[i]);
		if (ret[i].pattern)
			continue;
		while (i--)
			free(ret[i].pattern);
		free(ret);
		return NULL;
	}
	return ret;
}

int output__new(const struct output_opts *opts, struct output **ret, struct err *err)
{
	struct output *out = calloc(1, sizeof(*out));
	int res;

	if (!out)
		return err__set(err, ENOMEM, "out of memory");
	reported__init(&out->reported);
	out->not_shown.tell = output__tell_not_shown;
	out->namer = *opts->namer;
	out->losses = opts->losses;
	out->deliver = opts->deliver;
	out->react = opts->react;
	out->histories = opts->histories;
	out->names = opts->names;
	out->builder = record__new();
	out->faults = faults__new(opts->options->group);
	out->limits = opts->options->command == CMD_AGENT ? limits__new() : NULL;
	out->order = opts->options->sort;
	out->sig = opts->options->sig;
	out->options = opts->options;
	out->ignored = ignored_of(opts->options);
	out->nested = nested_turns__new();
	res = out->builder && out->faults && out->ignored && out->nested &&
			      (out->limits || opts->options->command != CMD_AGENT)
		      ? record__set_redaction(out->builder, opts->options->redact,
					      opts->options->redact_key, err)
		      : err__set(err, ENOMEM, "out of memory");
	if (!res && opts->options->mapping)
		res = r8_mapping__open(opts->options->mapping, &out->mapping, err);
	if (!res && !out->deliver)
		res = sinks__open(&out->sinks, opts->options, NULL, err);
	if (!res && opts->journal) {
		out->journal = opts->journal;
		out->answers = answers_writer__new(opts->journal);
		if (!out->answers)
			res = err__set(err, ENOMEM, "out of memory");
	}
	if (res) {
		output__free(out);
		return res;
	}
	*ret = out;
	return 0;
}

static void free_ignored(struct output *out)
{
	for (size_t i = 0; out->ignored && i < out->options->ignore_cnt + out->gone_cnt; i++)
		free(out->ignored[i].pattern);
	free(out->ignored);
}

/* The count of a pattern that is no longer asked for stays in the summary. */
static void keep_counts(struct ignored *fresh, size_t cnt, size_t *gone_cnt, struct ignored *old)
{
	size_t i = 0;

	while (i < cnt && strcmp(fresh[i].pattern, old->pattern))
		i++;
	if (i == cnt && (!old->cnt || cnt + *gone_cnt >= IGNORED_MAX))
		return;
	if (i < cnt) {
		fresh[i].cnt += old->cnt;
		return;
	}
	fresh[cnt + (*gone_cnt)++] = *old;
	old->pattern = NULL;
}

void output__adapt(struct output *out, struct live_options *live)
{
	struct ignored *fresh = ignored_of(&live->opts);
	size_t cnt = live->opts.ignore_cnt, gone_cnt = 0;

	if (!fresh) {
		losses__add(out->losses, LOSS_NO_MEMORY, 1);
		live_options__release(live);
		return;
	}
	for (size_t i = 0; i < out->options->ignore_cnt + out->gone_cnt; i++)
		keep_counts(fresh, cnt, &gone_cnt, &out->ignored[i]);
	free_ignored(out);
	live_options__release(out->live);
	out->ignored = fresh;
	out->gone_cnt = gone_cnt;
	out->options = &live->opts;
	out->live = live;
}

const struct options *output__options(const struct output *out)
{
	return out->options;
}

void output__free(struct output *out)
{
	if (!out)
		return;
	sinks__close(&out->sinks);
	record__free(out->builder);
	faults__free(out->faults);
	limits__free(out->limits);
	answers_writer__free(out->answers);
	reported__free(&out->reported);
	nested_turns__free(out->nested);
	r8_mapping__free(out->mapping);
	free_ignored(out);
	live_options__release(out->live);
	free(out);
}

static void count(struct output *out, enum user_loss loss, int res)
{
	if (res)
		losses__add(out->losses, loss, 1);
}

/* Counts a loss of this block; its record has the loss, too. */
static void lose(struct output *out, struct block *block, enum user_loss loss, uint64_t cnt)
{
	if (!cnt)
		return;
	losses__add(out->losses, loss, cnt);
	count(out, LOSS_NO_MEMORY, block__add_loss(block, loss, cnt));
}

/* --- enrich: facts that may soon be gone */

/* The message first: a connection may soon be closed and its descriptor reused. */
static void name_objects(struct output *out, struct block *block)
{
	const struct namer *namer = &out->namer;

	if (block->message && namer->message)
		lose(out, block, LOSS_NO_MEMORY, !!namer->message(namer->message_ctx, block));
	lose(out, block, LOSS_NO_MEMORY, !!namer->wait_objects(namer->wait_objects_ctx, block));
	if (out->answers)
		count(out, LOSS_JOURNAL, answers_writer__block(out->answers, block));
}

static void find_callers(struct output *out, struct block *block)
{
	lose(out, block, LOSS_NO_MEMORY, !!out->namer.callers(out->namer.callers_ctx, block));
	if (out->answers)
		count(out, LOSS_JOURNAL, answers_writer__callers(out->answers, block));
}

static void enrich(struct output *out, struct block *block)
{
	name_objects(out, block);
	chain__resolve_owners(block);
	find_callers(out, block);
}

/* --- name: frames of all stacks */

struct owned_stack {
	struct stack *stack;
	uint32_t pid;
	uint64_t t_ns; /* used for another process than the block's */
};

typedef void (*stack_fn)(struct output *out, struct block *block, const struct owned_stack *owned);

static void each_link_stack(struct output *out, struct block *block, struct link *link, stack_fn fn)
{
	struct owned_stack owned = { .pid = link->task.pid, .t_ns = link->t_ns + link->ns };

	owned.stack = &link->stack;
	if (owned.stack->addresses)
		fn(out, block, &owned);
	owned.stack = &link->wake_stack;
	if (owned.stack->addresses)
		fn(out, block, &owned);
}

static void each_stack(struct output *out, struct block *block, stack_fn fn)
{
	struct owned_stack owned = { .stack = &block->idle_place, .pid = block->pid };

	if (block->idle_place.user_cnt)
		fn(out, block, &owned);
	for (size_t i = 0; i < block->sample_cnt; i++) {
		owned.stack = &block->samples[i].stack;
		fn(out, block, &owned);
	}
	for (size_t i = 0; i < block->chain_cnt; i++)
		each_link_stack(out, block, &block->chain[i], fn);
}

/* A stack of another process is named at once, those of the block's process together. */
static void name_stack(struct output *out, struct block *block, const struct owned_stack *owned)
{
	const struct namer *namer = &out->namer;
	int res = 0;

	if (owned->pid != block->pid)
		res = namer->name_untraced(namer->untraced_ctx, owned->pid, owned->t_ns,
					   owned->stack);
	else if (out->own)
		out->own[out->own_cnt++] = owned->stack;
	else
		res = namer->name(namer->ctx, owned->pid, &owned->stack, 1);
	lose(out, block, LOSS_NO_MEMORY, !!res);
}

static void name_all(struct output *out, struct block *block)
{
	const struct namer *namer = &out->namer;

	out->own_cnt = 0;
	out->own = calloc(1 + block->sample_cnt + 2 * block->chain_cnt, sizeof(struct stack *));
	each_stack(out, block, name_stack);
	if (out->own_cnt)
		lose(out, block, LOSS_NO_MEMORY,
		     !!namer->name(namer->ctx, block->pid, out->own, out->own_cnt));
	free(out->own);
	out->own = NULL;
}

static void keep_answer(struct output *out, struct block *block, const struct owned_stack *owned)
{
	(void)block;
	count(out, LOSS_JOURNAL, answers_writer__stack(out->answers, owned->pid, owned->stack));
}

static void tidy_stack(struct output *out, struct block *block, const struct owned_stack *owned)
{
	lose(out, block, LOSS_NO_MEMORY, !!stack__merge_script(owned->stack));
	stack__trim_probe(owned->stack);
	stack__trim_stray(owned->stack);
	if (out->mapping)
		lose(out, block, LOSS_NO_MEMORY, !!r8_mapping__stack(out->mapping, owned->stack));
}

static void mark_owners(struct output *out, struct block *block, const struct owned_stack *owned)
{
	(void)out;
	if (owned->pid == block->pid)
		stack__mark_owners(owned->stack, block->process->exe);
}

/*
 * The programs of other processes are not known here. An interpreter's stack may lack the script's
 * frames; the block's other stacks say that it is one.
 */
static void mark_all_owners(struct output *out, struct block *block)
{
	if (!block__has_language(block) && !stack__has_language(&block->idle_place))
		each_stack(out, block, mark_owners);
}

static void mark_concern(struct output *out, struct block *block, const struct owned_stack *owned)
{
	(void)block;
	concern__mark(owned->stack, out->options->concern, out->options->concern_cnt);
}

static uint64_t cut_cnt(const struct output *out)
{
	return out->namer.cut_cnt ? out->namer.cut_cnt(out->namer.ctx) : 0;
}

static void name_stacks(struct output *out, struct block *block)
{
	uint64_t before = cut_cnt(out);

	name_all(out, block);
	lose(out, block, LOSS_NAMES, cut_cnt(out) - before);
	if (out->answers)
		each_stack(out, block, keep_answer);
	each_stack(out, block, tidy_stack);
	for (size_t i = 0; i < block->sample_cnt; i++)
		stack__mark_dispatcher(&block->samples[i].stack, &block->idle_place);
	mark_all_owners(out, block);
	if (out->options->concern_cnt)
		each_stack(out, block, mark_concern);
}

/* Restarts of the process that makes names, since they were counted last. */
static uint64_t take_restarts(struct output *out)
{
	uint64_t cnt = name_client__restart_cnt(out->names);
	uint64_t ret = cnt - out->name_restart_cnt;

	out->name_restart_cnt = cnt;
	return ret;
}

void output__count_restarts(struct output *out)
{
	losses__add(out->losses, LOSS_NAMER_RESTARTED, take_restarts(out));
}

/* Runs a step; puts its losses into the record, and into the journal for a replay. */
static void run_step(struct output *out, struct block *block,
		     void (*step)(struct output *out, struct block *block))
{
	uint64_t unanswered = apart__refused_cnt(), unread = unread__own_cnt();
	size_t lost_cnt = block->lost_cnt;

	step(out, block);
	lose(out, block, LOSS_NAMER_RESTARTED, take_restarts(out));
	/* The summary counts all refused reads at once. */
	count(out, LOSS_NO_MEMORY,
	      block__add_loss(block, LOSS_UNANSWERED, apart__refused_cnt() - unanswered));
	count(out, LOSS_NO_MEMORY, block__add_loss(block, LOSS_UNREAD, unread__own_cnt() - unread));
	if (out->answers && block->lost_cnt > lost_cnt)
		count(out, LOSS_JOURNAL, answers_writer__losses(out->answers, block));
}

/* --- sinks */

static unsigned sink_cnt(const struct output *out)
{
	return out->deliver ? deliver__sink_cnt(out->deliver) : out->sinks.cnt;
}

static const char *sink_name(const struct output *out, unsigned i)
{
	return out->deliver ? deliver__sink_name(out->deliver, i) : out->sinks.list[i]->ops->name;
}

/* Counts a failure of a sink, and logs the first one. */
static int check(struct output *out, unsigned i, int res)
{
	if (!res || res == -EPIPE)
		return res;
	losses__add(out->losses, LOSS_UNWRITTEN, 1);
	if (!out->complained[i])
		log__error("%s: a record could not be written: %s; tracing goes on, the summary "
			   "counts "
			   "what is missing",
			   sink_name(out, i), strerror(-res));
	out->complained[i] = true;
	return 0;
}

/* Waits for the commands: the summary counts them. */
static void set_reactions(struct output *out, struct summary *summary)
{
	struct react_counts counts;

	if (!react__finish(out->react, &counts))
		return;
	summary->reactions = (struct summary_reactions){ true, counts.run, counts.failed,
							 counts.timed_out, counts.skipped };
}

/* dropped: of the whole run. */
static void count_dropped(struct output *out, uint64_t dropped)
{
	losses__add(out->losses, LOSS_SPOOL_FULL, dropped - out->dropped);
	out->dropped = dropped;
}

/* Sets the result of each sink. 0 or -errno: no sink got the record. */
static int give(struct output *out, const Jankbpf__Record *record, int *results)
{
	int res;

	if (!record)
		return -ENOMEM;
	if (!out->deliver) {
		sinks__record(&out->sinks, record, 0, results);
		count_dropped(out, sinks__dropped(&out->sinks));
		return 0;
	}
	res = deliver__record(out->deliver, record, results);
	count_dropped(out, deliver__dropped(out->deliver));
	losses__add(out->losses, LOSS_DELIVER_RESTARTED,
		    deliver__restart_cnt(out->deliver) - out->restart_cnt);
	out->restart_cnt = deliver__restart_cnt(out->deliver);
	return res;
}

/*
 * Gives the record to all sinks; NULL: there was no memory to make it. Returns 0, or -EPIPE to end
 * the run.
 */
static int write_record(struct output *out, const Jankbpf__Record *record)
{
	int results[SINK_MAX], res;

	log__status(NULL);
	res = give(out, record, results);
	if (res == -ECHILD) { /* the session reports why */
		losses__add(out->losses, LOSS_UNWRITTEN, sink_cnt(out));
		return -EPIPE;
	}
	for (unsigned i = 0; i < sink_cnt(out); i++)
		if (check(out, i, res ? res : results[i]))
			res = -EPIPE;
	return res == -EPIPE ? res : 0;
}

/* The record with its number among those of its fault. NULL: out of memory. */
static const Jankbpf__Record *record_of(struct output *out, const struct block *block)
{
	const Jankbpf__Record *record = record__of_block(out->builder, block);

	if (!record)
		return NULL;
	count(out, LOSS_NO_MEMORY,
	      record->type_case == JANKBPF__RECORD__TYPE_HANG
		      ? faults__add_hang(out->faults, record->hang)
		      : faults__add(out->faults, record->block));
	return record;
}

/* --- the path of a block: enrich, name, verdict, sinks */

void output__enrich(struct output *out, struct block *block)
{
	run_step(out, block, enrich);
}

uint64_t output__block_cnt(const struct output *out)
{
	return out->reported.block_cnt;
}

uint64_t output__hang_cnt(const struct output *out)
{
	return out->reported.hang_cnt;
}

/* Of the fault that --sig asks for. */
static bool is_asked_for(const struct output *out, const struct block *block)
{
	return text__begins(block->cause.signature, out->sig);
}

/* Without memory for a record there is nothing to limit. */
static bool is_within_limits(struct output *out, const struct block *block,
			     const Jankbpf__Record *record)
{
	const struct limit_rates rates = { block->has_record_limit
						   ? block->record_limit
						   : out->options->records_per_signature,
					   out->options->records_per_s };

	return !out->limits || !record ||
	       limits__takes(out->limits, rates, record, clock__mono_ns());
}

int output__block(struct output *out, struct block *block)
{
	uint64_t failed = alloc__own_cnt();
	const Jankbpf__Record *record;
	int res = 0;

	run_step(out, block, name_stacks);
	if (!nested_turns__is_block(out->nested, block)) {
		output__left_out(out, block, NOT_SHOWN_NESTED);
		return 0;
	}
	blame__block(block);
	if (!is_asked_for(out, block) ||
	    ignored__takes(out->ignored, out->options->ignore_cnt, block)) {
		not_shown__add_block(&out->not_shown,
				     is_asked_for(out, block) ? NOT_SHOWN_IGNORED : NOT_SHOWN_SIG,
				     block);
		return 0;
	}
	count(out, LOSS_NO_MEMORY,
	      block__add_loss(block, LOSS_NO_MEMORY, alloc__own_cnt() - failed));
	count(out, LOSS_NO_MEMORY, reported__add(&out->reported, block));
	record = record_of(out, block);
	if (is_within_limits(out, block, record)) {
		res = write_record(out, record);
		if (record) {
			react__record(out->react, record);
			histories__add(out->histories, record);
		}
	} else {
		not_shown__add_block(&out->not_shown, NOT_SHOWN_LIMITS, block);
	}
	if (out->journal && journal_writer__flush(out->journal))
		losses__add(out->losses, LOSS_JOURNAL, 1);
	return res;
}

void output__tell_not_shown(enum not_shown_reason reason, uint32_t pid, uint64_t delay_ns)
{
	struct strbuf time = STRBUF_INIT;
	const char *word = not_shown__word(reason);

	clock__add_duration(&time, delay_ns);
	log__verbose("block not shown: pid %u, %s: %s", pid, strbuf__str(&time),
		     not_shown__phrase(word));
	strbuf__free(&time);
}

void output__left_out(struct output *out, const struct block *block, enum not_shown_reason reason)
{
	not_shown__add_block(&out->not_shown, reason, block);
	if (out->answers && answers_writer__left_out(out->answers, block, reason))
		losses__add(out->losses, LOSS_JOURNAL, 1);
}

void output__saw(struct output *out, uint32_t pid)
{
	react__saw(out->react, (pid_t)pid);
}

const struct nested_turns *output__nested(const struct output *out)
{
	return out->nested;
}

void output__on_exit(struct output *out, uint32_t pid)
{
	if (out->answers)
		answers_writer__on_exit(out->answers, pid);
	if (out->limits) /* of an agent, whose summary does not list ended processes either */
		reported__end(&out->reported, pid);
}

int output__interval(struct output *out, struct interval *interval)
{
	const Jankbpf__Record *record;
	int res;

	/* The count of an earlier moment lacks what was dropped for the records before this one. */
	count(out, LOSS_NO_MEMORY,
	      losses__set_listed(&interval->lost, &interval->lost_cnt, LOSS_SPOOL_FULL,
				 out->dropped - out->told_dropped));
	out->told_dropped = out->dropped;
	count(out, LOSS_NO_MEMORY, reported__set_interval(&out->reported, interval));
	if (out->limits)
		loop_hists__join(interval->loops, &interval->loop_cnt);
	record = record__of_interval(out->builder, interval);
	if (record && out->limits)
		count(out, LOSS_NO_MEMORY, record__limit_interval(out->builder, out->limits));
	res = write_record(out, record);
	if (out->limits)
		limits__end_interval(out->limits);
	return res;
}

int output__history(struct output *out, const struct history *history,
		    const struct output_blocks *blocks)
{
	const Jankbpf__Record *record =
		record__of_history(out->builder, history, blocks->list, blocks->cnt);

	if (record && blocks->left_out_cnt) {
		record->history->has_blocks_left_out = true;
		record->history->blocks_left_out = blocks->left_out_cnt;
	}
	return write_record(out, record);
}

/* Those of the blocks that were written after it was sent. */
static void add_late_losses(struct output *out, struct summary *summary)
{
	struct losses now = *out->losses;

	losses__add(&now, LOSS_UNANSWERED, apart__refused_cnt());
	losses__add(&now, LOSS_UNREAD, unread__cnt());
	if (summary->lost_grows)
		count(out, LOSS_NO_MEMORY,
		      losses__add_since(&summary->lost, &summary->lost_cnt, &summary->sent_with,
					&now));
}

int output__summary(struct output *out, struct summary *summary)
{
	const Jankbpf__Record *record;

	add_late_losses(out, summary);
	if (out->dropped) /* as in an interval */
		count(out, LOSS_NO_MEMORY,
		      losses__set_listed(&summary->lost, &summary->lost_cnt, LOSS_SPOOL_FULL,
					 out->dropped));
	reported__set_summary(&out->reported, summary);
	set_reactions(out, summary);
	not_shown__merge(&summary->not_shown, &out->not_shown);
	summary->ignored = out->ignored;
	summary->ignored_cnt = out->options->ignore_cnt + out->gone_cnt;
	record = record__of_summary(out->builder, summary);
	if (record && out->limits)
		count(out, LOSS_NO_MEMORY, record__limit_summary(out->builder, out->limits));
	if (record)
		count(out, LOSS_NO_MEMORY,
		      record__add_faults(out->builder, out->faults, out->order));
	return write_record(out, record);
}
