/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of counts: an interval, and the summary at the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/proto.h"
#include "session/session_parts.h"

void session__begin_counts(struct session *s)
{
	s->counts.start_ns = s->counts.status_ns = clock__mono_ns();
	s->counts.start_cpu_ns = s->intervals.cpu_ns = session__own_cpu_ns(s);
	s->intervals.end_ns = s->counts.start_ns;
}

static int sum_hists(const struct session *s, struct hists **ret)
{
	int res;

	*ret = hists__new();
	if (!*ret)
		return -ENOMEM;
	res = hists__merge(*ret, loops__ended(s->intake.loops));
	return res ?: hists__merge(*ret, s->counts.live);
}

static void name_loops(const struct session *s, struct loop_hist *loops, size_t cnt)
{
	uint64_t usual_ns = session__options(s)->threshold_ns;

	for (size_t i = 0; i < cnt; i++) {
		const struct process_entry *process =
			process_table__find(&s->processes, loops[i].pid);

		if (!process || !process->identity || !process->identity->name)
			continue;
		loop_hist__clear(&loops[i]); /* of an earlier process with this pid */
		loops[i].process = identity__names(process->identity); /* optional */
		if (process->limit_ns != usual_ns && process->limit_ns != UINT64_MAX)
			loops[i].threshold_ns = process->limit_ns;
	}
}

static void name_open(const struct session *s, struct open_dispatch *open, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct process_entry *process =
			process_table__find(&s->processes, open[i].pid);

		if (process && process->identity)
			open[i].process = identity__names(process->identity); /* optional */
	}
}

static int set_loops(struct session *s, struct summary *summary)
{
	struct hists *all;
	int res = sum_hists(s, &all);

	if (!res && s->pause.excluded)
		res = hists__take_new(s->pause.excluded, all, &summary->loops, &summary->loop_cnt);
	else if (!res)
		res = hists__list(all, &summary->loops, &summary->loop_cnt);
	hists__free(all);
	if (!res)
		name_loops(s, summary->loops, summary->loop_cnt);
	if (!res)
		loops__set_first_turns(s->intake.loops, summary->loops, summary->loop_cnt);
	return res;
}

void session__fill_now(struct session *s, struct intervals_now *ret)
{
	ret->t_ns = clock__mono_ns();
	ret->cpu_ns = session__own_cpu_ns(s);
	ret->rss_kb = session__own_rss_kb(s);
	ret->losses = s->losses;
	session__add_losses(s, &ret->losses);
	losses__add_memory(&ret->losses);
}

/* The texts stay for the whole run. */
static void set_host(const struct session *s, struct host_info *ret)
{
	*ret = s->host;
	machine__memory(&ret->mem_total_kb, &ret->mem_free_kb, &ret->mem_available_kb);
}

static bool is_known(void *ctx, uint32_t pid)
{
	const struct session *s = ctx;

	return process_table__find(&s->processes, pid);
}

/* The interval was paused: takes its counts out. 0 or -ENOMEM. */
static int leave_out(struct pause *pause, struct interval *interval)
{
	int res;

	if (!pause->excluded)
		pause->excluded = hists__new();
	if (!pause->excluded)
		return -ENOMEM;
	res = hists__add_list(pause->excluded, interval->loops, interval->loop_cnt);
	for (size_t i = 0; i < interval->loop_cnt; i++)
		loop_hist__clear(&interval->loops[i]);
	interval->loop_cnt = interval->open_cnt = 0;
	interval->facts.has_open_more = false;
	SET_KNOWN(&interval->facts, paused_ns, interval->facts.elapsed_ns);
	pause->total_ns += interval->facts.elapsed_ns;
	return res;
}

/* An agent forgets the processes that ended: their counts were told. */
static int forget_ended(struct session *s)
{
	const struct hists_run run = {
		.ended = loops__ended(s->intake.loops),
		.told = s->intervals.told,
		.left_out = s->pause.excluded,
		.live = s->counts.live,
	};

	return s->opts->command == CMD_AGENT ? hists__fold(&run, is_known, s) : 0;
}

void session__interval(struct session *s)
{
	struct intervals_now now = { .threshold_ns = s->intake.judge.threshold_ns };
	struct item item = { .kind = ITEM_INTERVAL };
	struct interval *interval = calloc(1, sizeof(*interval));
	int res = interval ? 0 : -ENOMEM;

	ring__consume(s->ring); /* the counts of ended threads come first: see durations.h */
	session__look(s, NULL);
	if (!res)
		res = sum_hists(s, &now.hists);
	session__fill_now(s, &now);
	if (!res)
		res = intervals__take(&s->intervals, &now, interval);
	if (!res && s->pause.on)
		res = leave_out(&s->pause, interval);
	hists__free(now.hists);
	if (!res)
		res = forget_ended(s);
	if (!res)
		name_loops(s, interval->loops, interval->loop_cnt);
	if (!res)
		name_open(s, interval->open, interval->open_cnt);
	if (!res)
		set_host(s, &interval->host);
	if (!res && s->opts->command == CMD_AGENT)
		session__take_govern(s, interval);
	if (res)
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	item.data = interval;
	if (res || queue__put(s->queue, &item) != QUEUE_ROOM) {
		losses__add(&s->losses, LOSS_QUEUE_FULL, !res);
		interval__free(interval);
		free(interval);
	}
}

static void add_share(void *ctx, uint32_t uid, const struct jank_share *share)
{
	struct over_shares *ret = ctx;

	if (uid == JANK_SHARE_OTHERS)
		uid = UID_UNKNOWN;
	for (unsigned kind = 0; kind < JANK_SHARE_CNT; kind++)
		over_shares__add(ret, uid, kind, share->lost[kind]);
}

int session__send_summary(struct session *s)
{
	struct item item = { .kind = ITEM_SUMMARY };
	struct summary *summary = calloc(1, sizeof(*summary));
	struct losses losses;

	if (!summary)
		return -ENOMEM;
	summary->histories.stop_ns = clock__mono_ns();
	summary->elapsed_ns = summary->histories.stop_ns - s->counts.start_ns;
	if (options__traces(s->opts))
		summary->idle_loop =
			unwatched_look__at_end(&s->unwatched_look, &summary->unwatched);
	summary->not_shown = s->intake.judge.not_shown;
	summary->paused_ns = s->pause.total_ns;
	summary->blind_ns = s->govern.blind_ns;
	summary->governor_step_cnt = s->govern.step_cnt;
	summary->dispatch_cnt = session__totals(s).dispatch_cnt;
	summary->bpf_known = cost_meter__bpf(&s->cost_meter, s->loader, summary->elapsed_ns,
					     &summary->bpf_ns, &summary->bpf_runs);
	summary->over_share = s->counts.over_share;
	loader__each_share(s->loader, add_share, &summary->over_share);
	summary->start_cpu_ns = s->counts.start_cpu_ns;
	summary->user_cpu_ns = session__own_cpu_ns(s);
	summary->rss_kb = session__own_rss_kb(s);
	summary->pss_kb = session__own_pss_kb(s);
	losses = summary->sent_with = s->losses;
	summary->lost_grows = true;
	session__add_losses(s, &losses);
	summary->sent_with.cnt[LOSS_UNANSWERED] = losses.cnt[LOSS_UNANSWERED];
	summary->sent_with.cnt[LOSS_UNREAD] = losses.cnt[LOSS_UNREAD];
	losses__add_memory(&losses);
	/* read at the same time as the list, which grows meanwhile */
	losses.cnt[JANK_LOST_SHARE] = over_shares__total(&summary->over_share);
	if (losses__list(&losses, &summary->lost, &summary->lost_cnt) || set_loops(s, summary))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	item.data = summary;
	queue__put(s->queue, &item);
	return 0;
}
