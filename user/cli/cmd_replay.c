/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the journal twice: first the recorded answers, then the events. Everything after the ring
 * is the same code as in a session, on one thread.
 */
#include "cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "intake/records.h"
#include "journal/answers.h"
#include "journal/journal.h"
#include "model/block.h"
#include "model/hist.h"
#include "model/loop.h"
#include "session/event_loop.h"
#include "session/output.h"
#include "symbol/modules/offline.h"

/*
 * --- names for frames that were recorded without one, from programs and debug files found by build
 * id
 */

struct offline_names {
	struct offline *offline; /* borrowed; owns the strings of the frames */
	uint64_t nameless_cnt, named_cnt;
};

/* Builds a new list frame by frame, since one frame may become several. */

/*
 * Looks up one frame. Inlined functions are not marked as application code, so that none is blamed;
 * an address with one name gives the same result.
 */
static size_t look_up(struct offline_names *names, const struct frame *frame, bool exact,
		      struct frame found[OFFLINE_FRAMES_MAX])
{
	size_t cnt;

	if (frame->function || frame->kernel || !frame->build_id || !frame->build_id[0])
		return 0;
	names->nameless_cnt++;
	if (frame->module)
		offline__archive(names->offline, frame->build_id, frame->module);
	cnt = offline__name(names->offline, frame->build_id, frame->offset, exact, found);
	names->named_cnt += cnt > 0;
	for (size_t i = 0; i < cnt; i++) {
		found[i].address = frame->address;
		found[i].module = frame->module;
		found[i].build_id = frame->build_id;
		found[i].app = frame->app && found[i].app && !found[i].inlined;
	}
	return cnt;
}

/*
 * Adds names, lines and inlined functions to frames that have a build id and no name. Returns 0 or
 * -ENOMEM.
 */
static int offline_names__fill(struct offline_names *names, struct stack *stack)
{
	struct frame found[OFFLINE_FRAMES_MAX], *list = NULL;
	size_t cnt = 0;
	bool exact = true;

	for (uint32_t i = 0; i < stack->frame_cnt; i++) {
		const struct frame *frame = &stack->frames[i];
		size_t more = look_up(names, frame, exact, found);
		struct frame *longer;

		if (!frame->kernel && !frame->inlined)
			exact = false; /* the other frames are return addresses */
		longer = realloc(list, (cnt + (more ?: 1)) * sizeof(*list));
		if (!longer) {
			free(list);
			return -ENOMEM;
		}
		list = longer;
		memcpy(list + cnt, more ? found : frame, (more ?: 1) * sizeof(*list));
		cnt += more ?: 1;
	}
	if (!list)
		return 0;
	free(stack->frames);
	stack->frames = list;
	stack->frame_cnt = cnt;
	return 0;
}

struct replay {
	const struct options *opts;
	struct journal_reader *reader;
	struct answers *answers;
	struct offline_names offline; /* with --debug-dir */
	struct output *output;
	struct loops *loops;
	struct losses losses;
	struct judge judge;
	struct host_info host;
	uint64_t block_cnt;
	bool full; /* --count is reached: the rest only feeds the loops' counts */
};

/* Calls fn with each record. A torn end of the journal is reported once and is no failure. */
static int each_record(struct replay *r, int (*fn)(struct replay *r, const struct jank_rec *rec),
		       bool tell)
{
	const struct jank_rec *rec;
	int res;

	while ((res = journal_reader__next(r->reader, &rec)) > 0) {
		res = fn(r, rec);
		if (res)
			return res;
	}
	if (res == -EBADMSG) {
		if (tell)
			log__warn("the journal '%s' is torn: its last part is left out",
				  r->opts->journal);
		res = 0;
	}
	return res;
}

static int learn(struct replay *r, const struct jank_rec *rec)
{
	int res = answers__add(r->answers, rec);

	if (res == -EBADMSG) {
		losses__add(&r->losses, LOSS_BAD_RECORD, 1);
		return 0;
	}
	return res;
}

static int on_dispatch(struct replay *r, struct dispatch *dispatch)
{
	enum not_shown_reason reason;
	struct block *block;
	int res;

	if (answers__left_out(r->answers, &dispatch->rec, &reason)) {
		if (reason != SHOWN && !dispatch->hang &&
		    dispatch__delay(&dispatch->rec) > r->judge.threshold_ns)
			not_shown__add(&r->judge.not_shown, reason, dispatch->rec.hdr.tgid,
				       dispatch__delay(&dispatch->rec));
		return 0;
	}
	answers__time(r->answers, &dispatch->rec, &r->host, &r->judge.real_offset_ns);
	res = judge__dispatch(&r->judge, dispatch,
			      answers__process(r->answers, dispatch->rec.hdr.tgid), &block);
	if (res <= 0)
		return res;
	if (r->full) {
		not_shown__add_block(&r->judge.not_shown, NOT_SHOWN_COUNT, block);
		block__free(block);
		return 0;
	}
	block->loop_name = answers__loop(r->answers, &dispatch->rec);
	r->block_cnt += block->type == BLOCK_JANK;
	r->full = r->opts->count && r->block_cnt >= r->opts->count;
	output__enrich(r->output, block);
	res = output__block(r->output, block);
	block__free(block);
	return res;
}

static int on_record(struct replay *r, const struct jank_rec *rec)
{
	struct dispatch *dispatch;
	struct event event;
	int res;

	if (rec->kind >= JOURNAL_FIRST)
		return 0;
	res = decode__record(rec, rec->size, &event);
	if (res) {
		losses__add(&r->losses, res == -ENOTSUP ? LOSS_UNKNOWN_RECORD : LOSS_BAD_RECORD, 1);
		return 0;
	}
	res = loops__event(r->loops, &event, &dispatch);
	if (dispatch) {
		res = on_dispatch(r, dispatch);
		dispatch__free(dispatch);
	}
	return res;
}

/*
 * Recording and replay count the same intake losses, since both see the same records: keep the
 * maximum.
 */
static void add_loss(struct summary *summary, const struct block_loss *loss)
{
	for (size_t i = 0; i < summary->lost_cnt; i++) {
		struct block_loss *known = &summary->lost[i];

		if (strcmp(known->reason, loss->reason))
			continue;
		if (known->cnt < loss->cnt)
			known->cnt = loss->cnt;
		return;
	}
	summary->lost[summary->lost_cnt++] = *loss;
}

/* Lists the losses of the recording and of this replay. */
static int set_losses(struct replay *r, struct summary *summary)
{
	struct block_loss *own = NULL, *all;
	size_t own_cnt;
	int res = answers__losses(r->answers, &summary->lost, &summary->lost_cnt);

	losses__add_memory(&r->losses);
	if (!res)
		res = losses__list(&r->losses, &own, &own_cnt);
	if (res || !own_cnt)
		return res;
	all = realloc(summary->lost, (summary->lost_cnt + own_cnt) * sizeof(*all));
	if (all) {
		summary->lost = all;
		for (size_t i = 0; i < own_cnt; i++)
			add_loss(summary, &own[i]);
	}
	free(own);
	return all ? 0 : -ENOMEM;
}

static int set_loops(struct replay *r, struct summary *summary)
{
	int res = hists__list(loops__ended(r->loops), &summary->loops, &summary->loop_cnt);

	if (!res)
		loops__set_first_turns(r->loops, summary->loops, summary->loop_cnt);
	for (size_t i = 0; !res && i < summary->loop_cnt; i++) {
		const Jankbpf__Identity *process =
			answers__process(r->answers, summary->loops[i].pid);

		if (process && process->name)
			summary->loops[i].process = identity__called(process->name);
		summary->loops[i].loop_name =
			answers__loop_of(r->answers, summary->loops[i].pid, summary->loops[i].loop);
	}
	return res;
}

static int summarize(struct replay *r)
{
	struct summary summary = {
		.elapsed_ns = answers__session(r->answers)->elapsed_ns,
		.dispatch_cnt = hists__totals(loops__ended(r->loops)).dispatch_cnt,
		.not_shown = r->judge.not_shown,
	};
	int res = set_losses(r, &summary);

	if (!res)
		res = set_loops(r, &summary);
	if (!res)
		res = answers__unwatched(r->answers, &summary.unwatched);
	answers__over_share(r->answers, &summary.over_share);
	if (!res)
		res = output__summary(r->output, &summary);
	summary__free(&summary);
	return res;
}

/* Warns about a threshold below the recording's: it would show only part of the blocks. */
static void set_judge(struct replay *r)
{
	const struct answers_session *session = answers__session(r->answers);
	char limit[32];

	r->host = session->host;
	r->judge = (struct judge){
		.threshold_ns =
			r->opts->threshold_given ? r->opts->threshold_ns : session->threshold_ns,
		.hang_ns = session->hang_ns,
		.startup_ns = r->opts->startup_given ? r->opts->startup_ns : session->startup_ns,
		.fps = r->opts->fps_given ? r->opts->fps : session->fps,
		.debugging = r->opts->debugging,
		.host = &r->host,
		.not_shown.tell = output__tell_not_shown,
		.real_offset_ns = session->real_offset_ns,
	};
	if (!session->known)
		log__warn("the journal '%s' lacks its session: neither its threshold nor its host "
			  "is known",
			  r->opts->journal);
	if (r->judge.threshold_ns < session->threshold_ns) {
		struct strbuf sb = STRBUF_INIT;

		clock__add_duration(&sb, session->threshold_ns);
		snprintf(limit, sizeof(limit), "%s", strbuf__str(&sb));
		strbuf__free(&sb);
		log__warn("the journal holds only dispatches over %s: those between that and the "
			  "threshold asked for are missing",
			  limit);
	}
}

static int name_one(struct replay *r, uint32_t pid, struct stack *stack)
{
	int res = answers__name(r->answers, pid, stack);

	return res || !r->offline.offline ? res : offline_names__fill(&r->offline, stack);
}

static int name(void *ctx, uint32_t pid, struct stack *const *stacks, size_t cnt)
{
	int res = 0;

	for (size_t i = 0; i < cnt; i++)
		res = name_one(ctx, pid, stacks[i]) ?: res;
	return res;
}

static int name_untraced(void *ctx, uint32_t pid, uint64_t t_ns, struct stack *stack)
{
	return name_one(ctx, pid, stack);
}

static int open_replay(struct replay *r, struct err *err)
{
	struct namer namer;
	const struct output_opts opts = { .options = r->opts,
					  .namer = &namer,
					  .losses = &r->losses };
	int res = journal_reader__new(r->opts->journal, &r->reader, err);

	if (res)
		return res;
	r->answers = answers__new();
	r->loops = loops__new(&r->losses);
	if (!r->answers || !r->loops)
		return err__set(err, ENOMEM, "out of memory");
	res = each_record(r, learn, true);
	if (!res)
		res = journal_reader__rewind(r->reader);
	if (res)
		return err__set(err, -res, "cannot read the journal '%s': %s", r->opts->journal,
				strerror(-res));
	set_judge(r);
	if (r->opts->debug_dir_cnt)
		res = offline__new(r->opts->debug_dirs, r->opts->debug_dir_cnt, &r->offline.offline,
				   err);
	if (res)
		return res;
	namer = (struct namer){ .name = name,
				.ctx = r,
				.name_untraced = name_untraced,
				.untraced_ctx = r,
				.message_ctx = r->answers,
				.wait_objects = answers__waited,
				.wait_objects_ctx = r->answers,
				.callers = answers__callers,
				.callers_ctx = r->answers };
	return output__new(&opts, &r->output, err);
}

static void report_named(const struct offline_names *names)
{
	log__info("%llu of %llu frames without a name have one now",
		  (unsigned long long)names->named_cnt, (unsigned long long)names->nameless_cnt);
	if (offline__refused(names->offline))
		log__warn("%s", offline__refused(names->offline));
}

int cmd_replay__run(const struct options *opts, struct err *err)
{
	struct replay r = { .opts = opts };
	int res;

	signals__write_errors();
	res = open_replay(&r, err);
	if (!res) {
		res = each_record(&r, on_record, false);
		if (!res)
			res = summarize(&r);
		if (r.offline.offline)
			report_named(&r.offline);
		if (!res && opts->sig && !output__block_cnt(r.output))
			res = err__set(err, ENOENT,
				       "--sig %s: no block of '%s' has such a signature; run it "
				       "without --sig to see them",
				       opts->sig, opts->journal);
		if (res == -EPIPE)
			res = 0;
		if (res && !err->msg[0])
			err__set(err, -res, "cannot replay '%s': %s", opts->journal,
				 strerror(-res));
	}
	output__free(r.output);
	offline__free(r.offline.offline);
	loops__free(r.loops);
	answers__free(r.answers);
	journal_reader__free(r.reader);
	return res ? (err->exit ? err->exit : JANK_EXIT_FAILED) : JANK_EXIT_OK;
}
