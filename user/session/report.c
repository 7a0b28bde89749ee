/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of the live threads, losses, the status line during the run, the summary at the end. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "export/values.h"
#include "files/apart.h"
#include "files/file.h"
#include "files/unread.h"
#include "session/session_parts.h"

#define PENDING_NS     (50 * NS_PER_MS) /* between looks that open dispatches */
#define ALARM_SLACK_NS NS_PER_MS /* the probes compare with their own clock, a moment earlier */

struct look {
	struct session *s;
	struct strbuf *records; /* NULL: not wanted */
	uint64_t open_ns;	/* time of the longest open dispatch */
	uint64_t hang_ns;	/* when the next dispatch reaches a limit; UINT64_MAX: none will */
	bool brief;		/* the counts are not wanted */
};

static void add_counts(struct look *look, const struct jank_rec_thread *rec)
{
	if (hists__add(look->s->report.live, rec))
		losses__add(&look->s->losses, LOSS_NO_MEMORY, 1);
	if (intervals__saw(&look->s->intervals, rec, look->s->intake.judge.threshold_ns))
		losses__add(&look->s->losses, LOSS_NO_MEMORY, 1);
	look->s->report.loop_cnt++;
	if (look->records)
		strbuf__add(look->records, rec, sizeof(*rec));
}

/* A dispatch that has not begun is as old as its delay. */
static void look_ahead(struct look *look, const struct jank_rec_thread *rec)
{
	uint64_t age_ns = rec->open_ns ? rec->open_ns : rec->open_delay_ns;
	const uint64_t *limits = look->s->report.hang_limits;
	size_t i = 0;

	while (i < JANK_HANG_LIMITS - 1 && limits[i] <= age_ns)
		i++;
	if (!age_ns || limits[i] <= age_ns || limits[i] == UINT64_MAX)
		return;
	if (rec->hdr.ts_ns + (limits[i] - age_ns) < look->hang_ns)
		look->hang_ns = rec->hdr.ts_ns + (limits[i] - age_ns);
}

static void add_live(void *ctx, const struct jank_rec_thread *rec)
{
	struct look *look = ctx;

	if (rec->hdr.flags & JANK_THREAD_LAST) { /* the thread begins at 0 if it is watched again */
		if (hists__add(loops__ended(look->s->intake.loops), rec))
			losses__add(&look->s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	process_table__saw(&look->s->processes, &rec->hdr);
	if (look->open_ns < rec->open_ns + rec->open_delay_ns)
		look->open_ns = rec->open_ns + rec->open_delay_ns;
	look_ahead(look, rec);
	if (!look->brief)
		add_counts(look, rec);
}

static void look_at_threads(struct look *look)
{
	uint64_t now_ns = clock__mono_ns();

	look->hang_ns = UINT64_MAX;
	session__tell_openings(look->s);
	if (!loader__each_thread(look->s->loader, add_live, look))
		loops__rest(look->s->intake.loops, now_ns, look->open_ns);
	if (openings__are_pending(&look->s->openings))
		look->hang_ns = now_ns + PENDING_NS;
	/* A later one is seen in time by the next look, and mostly ends before. */
	if (look->hang_ns < now_ns + LOOK_MAX_NS)
		event_loop__set_alarm(look->s->report.hang_fd, look->hang_ns + ALARM_SLACK_NS);
}

void session__look(struct session *s, struct strbuf *records)
{
	struct look look = { .s = s, .records = records };
	struct hists *fresh = hists__new();

	if (!fresh) {
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
		return;
	}
	hists__free(s->report.live);
	s->report.live = fresh;
	s->report.look_ns = clock__mono_ns();
	s->report.loop_cnt = 0;
	/* before their dispatches are counted: so there are no more blocks than dispatches */
	s->report.block_cnt = output__block_cnt(s->sink.output);
	s->report.hang_cnt = output__hang_cnt(s->sink.output);
	intervals__begin_look(&s->intervals);
	look_at_threads(&look);
}

void session__look_for_hangs(struct session *s)
{
	struct look look = { .s = s, .brief = true };

	look_at_threads(&look);
}

void session__renew_counts(struct session *s)
{
	if (clock__mono_ns() - s->report.look_ns >= NS_PER_SEC)
		session__look(s, NULL);
}

struct hist_totals session__totals(const struct session *s)
{
	struct hist_totals ended = hists__totals(loops__ended(s->intake.loops));
	struct hist_totals live = hists__totals(s->report.live);
	struct hist_totals paused =
		s->pause.excluded ? hists__totals(s->pause.excluded) : (struct hist_totals){};

	/* counts that were lost with a record may have been left out */
	if (paused.dispatch_cnt > ended.dispatch_cnt + live.dispatch_cnt)
		paused.dispatch_cnt = ended.dispatch_cnt + live.dispatch_cnt;
	return (struct hist_totals){ ended.dispatch_cnt + live.dispatch_cnt - paused.dispatch_cnt,
				     ended.block_cnt + live.block_cnt,
				     ended.hang_cnt + live.hang_cnt };
}

void session__begin_report(struct session *s)
{
	s->report.start_ns = s->report.status_ns = clock__mono_ns();
	s->report.start_cpu_ns = s->intervals.cpu_ns = session__own_cpu_ns(s);
	s->intervals.end_ns = s->report.start_ns;
}

/* --- losses */

static void add_kernel_losses(const struct session *s, struct losses *ret)
{
	loader__losses(s->loader, ret->cnt); /* the first JANK_LOSS_CNT are kernel losses */
	losses__add(ret, LOSS_SKIPPED, loader__skipped(s->loader));
	losses__add(ret, LOSS_UNANSWERED, apart__refused_cnt());
	losses__add(ret, LOSS_UNREAD, unread__cnt());
	losses__add(ret, LOSS_NAMER_RESTARTED, name_client__restart_cnt(s->sites));
	losses__add(ret, LOSS_NAMER_FORBIDDEN,
		    name_client__forbidden_cnt(s->names) + name_client__forbidden_cnt(s->sites));
}

/* The losses until now: the own ones and those of the kernel. */
static struct losses sum_of(const struct losses *own, const struct losses *kernel)
{
	struct losses ret = *own;

	for (int i = 0; i < LOSS_CNT; i++)
		losses__add(&ret, i, kernel->cnt[i]);
	losses__add_memory(&ret);
	return ret;
}

void session__keep_losses(struct session *s)
{
	if (s->loader)
		add_kernel_losses(s, &s->report.kernel_losses);
}

static bool is_detail(int reason)
{
	return value__loss_takes(loss__key(reason)) == LOSS_TAKES_DETAIL;
}

static uint64_t lost_cnt(const struct losses *losses)
{
	uint64_t ret = 0;

	for (int i = 0; i < LOSS_CNT; i++)
		ret += is_detail(i) ? 0 : losses->cnt[i];
	return ret;
}

void session__report_unread(void)
{
	char text[512];

	while (unread__next(text, sizeof(text)))
		log__warn("%s", text);
}

/*
 * Reports losses that were not known when the summary was sent: its own, or those of the last
 * blocks.
 */
void session__report_losses(struct session *s)
{
	struct losses losses = sum_of(&s->losses, &s->report.kernel_losses);
	struct strbuf lost = STRBUF_INIT, detail = STRBUF_INIT;

	for (int i = 0; i < LOSS_CNT; i++) {
		struct strbuf *line = is_detail(i) ? &detail : &lost;

		if (losses.cnt[i])
			strbuf__addf(line, "%s%llu %s", line->len ? ", " : "",
				     (unsigned long long)losses.cnt[i], loss__key(i));
	}
	session__report_unread();
	if (lost.len)
		log__warn("lost: %s", strbuf__str(&lost));
	if (detail.len)
		log__info("no block is missing by it, but detail was left out: %s",
			  strbuf__str(&detail));
	strbuf__free(&lost);
	strbuf__free(&detail);
}

/* --- the line that says that tracing began, and the status line */

/* "all processes named redis* or nginx, of user 33, in cgroup user.slice" */
static void add_filter(struct strbuf *sb, const struct filter *filter)
{
	strbuf__adds(sb, "all processes");
	for (uint32_t i = 0; i < filter->glob_cnt; i++) {
		strbuf__adds(sb, i ? " or " : " named ");
		text__add_clean(sb, filter->glob_texts[i]);
	}
	for (uint32_t i = 0; i < filter->uid_cnt; i++)
		strbuf__addf(sb, "%s%u", i ? " or " : " of user ", filter->uids[i]);
	for (uint32_t i = 0; i < filter->name_cnt; i++) {
		strbuf__adds(sb, i ? " or " : " in cgroup ");
		text__add_clean(sb, filter->names[i].name);
	}
}

static void add_watched(struct strbuf *sb, const struct session *s)
{
	bool one = s->opts->argv ? !s->opts->pid_cnt : s->opts->pid_cnt == 1;
	uint32_t pid = s->opts->argv	  ? (uint32_t)s->workload.pid
		       : s->opts->pid_cnt ? (uint32_t)s->opts->pids[0]
					  : 0;
	const struct process_entry *process = one ? process_table__find(&s->processes, pid) : NULL;

	if (s->opts->filter.all)
		add_filter(sb, &s->opts->filter);
	else if (!one)
		strbuf__addf(sb, "%zu processes", s->opts->pid_cnt + !!s->opts->argv);
	else if (s->opts->argv)
		strbuf__addf(sb, "%s (%u)", text__base_name(s->opts->argv[0]), pid);
	else if (process && process->identity && process->identity->name)
		strbuf__addf(sb, "%s (%u)", process->identity->name, pid);
	else
		strbuf__addf(sb, "process %u", pid);
}

void session__report_ready(const struct session *s)
{
	struct strbuf line = STRBUF_INIT;

	strbuf__adds(&line, "watching ");
	add_watched(&line, s);
	if (s->report.loop_cnt)
		strbuf__addf(&line, ": %zu loop%s", s->report.loop_cnt,
			     s->report.loop_cnt == 1 ? "" : "s");
	strbuf__adds(&line, ", over ");
	clock__add_duration(&line, s->opts->threshold_ns);
	strbuf__adds(&line, s->opts->duration_ns || s->opts->count || s->opts->command == CMD_AGENT
				    ? ""
				    : "; Ctrl-C ends");
	if (!line.failed)
		log__info("%s", strbuf__str(&line));
	strbuf__free(&line);
}

/* "20.1k" */
static void add_count(struct strbuf *sb, uint64_t cnt)
{
	if (cnt < 10000)
		strbuf__addf(sb, "%llu", (unsigned long long)cnt);
	else if (cnt < 10000000)
		strbuf__addf(sb, "%.1fk", cnt / 1e3);
	else
		strbuf__addf(sb, "%.1fM", cnt / 1e6);
}

void session__status(struct session *s)
{
	uint64_t now = clock__mono_ns(), elapsed = now - s->report.start_ns;
	struct hist_totals sum = session__totals(s);
	struct strbuf line = STRBUF_INIT;
	struct losses losses = s->losses;

	add_kernel_losses(s, &losses);
	clock__add_duration(&line, elapsed);
	strbuf__adds(&line, " · ");
	add_count(&line, sum.dispatch_cnt);
	if (!sum.dispatch_cnt)
		strbuf__adds(&line, " dispatches: no loop seen yet");
	else
		strbuf__addf(&line, " dispatches · %llu blocks",
			     (unsigned long long)s->report.block_cnt);
	if (s->report.hang_cnt)
		strbuf__addf(&line, " · %llu hangs", (unsigned long long)s->report.hang_cnt);
	if (lost_cnt(&losses)) {
		strbuf__adds(&line, " · lost ");
		add_count(&line, lost_cnt(&losses));
	} else if (sum.dispatch_cnt) {
		strbuf__adds(&line,
			     losses__total(&losses) ? " · no block lost" : " · nothing lost");
	}
	strbuf__addf(&line, " · own CPU %.1f %%",
		     100.0 * (double)(session__own_cpu_ns(s) - s->report.start_cpu_ns) /
			     (double)(elapsed ?: 1));
	log__status(strbuf__str(&line));
	strbuf__free(&line);
}

/* --- the summary */

static int sum_hists(const struct session *s, struct hists **ret)
{
	int res;

	*ret = hists__new();
	if (!*ret)
		return -ENOMEM;
	res = hists__merge(*ret, loops__ended(s->intake.loops));
	return res ?: hists__merge(*ret, s->report.live);
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
		loops[i].process = strdup(process->identity->name);
		text__copy(&loops[i].unit, process->identity->unit); /* these are optional */
		if (process->limit_ns != usual_ns && process->limit_ns != UINT64_MAX)
			loops[i].threshold_ns = process->limit_ns;
		text__copy(&loops[i].container, process->identity->container);
		text__copy(&loops[i].pod, process->identity->pod);
	}
}

static void name_open(const struct session *s, struct open_dispatch *open, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct process_entry *process =
			process_table__find(&s->processes, open[i].pid);

		if (!process || !process->identity)
			continue;
		text__copy(&open[i].process, process->identity->name); /* these are optional */
		text__copy(&open[i].unit, process->identity->unit);
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
	add_kernel_losses(s, &ret->losses);
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

/* An agent forgets the processes that ended: their counts were told. */
static int forget_ended(struct session *s)
{
	const struct hists_run run = {
		.ended = loops__ended(s->intake.loops),
		.told = s->intervals.told,
		.left_out = s->pause.excluded,
		.live = s->report.live,
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
		res = pause__leave_out(&s->pause, interval);
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
	summary->elapsed_ns = summary->histories.stop_ns - s->report.start_ns;
	if (options__traces(s->opts))
		summary->idle_loop =
			unwatched_look__at_end(&s->unwatched_look, &summary->unwatched);
	summary->stopped_cnt = s->intake.judge.stopped_cnt;
	summary->paused_ns = s->pause.total_ns;
	summary->blind_ns = s->govern.blind_ns;
	summary->governor_step_cnt = s->govern.step_cnt;
	summary->dispatch_cnt = session__totals(s).dispatch_cnt;
	summary->bpf_known = cost_meter__bpf(&s->cost_meter, s->loader, summary->elapsed_ns,
					     &summary->bpf_ns, &summary->bpf_runs);
	summary->over_share = s->report.over_share;
	loader__each_share(s->loader, add_share, &summary->over_share);
	summary->start_cpu_ns = s->report.start_cpu_ns;
	summary->user_cpu_ns = session__own_cpu_ns(s);
	summary->rss_kb = session__own_rss_kb(s);
	summary->pss_kb = session__own_pss_kb(s);
	losses = s->losses;
	add_kernel_losses(s, &losses);
	losses__add_memory(&losses);
	/* read at the same time as the list, which grows meanwhile */
	losses.cnt[JANK_LOST_SHARE] = over_shares__total(&summary->over_share);
	if (losses__list(&losses, &summary->lost, &summary->lost_cnt) || set_loops(s, summary))
		losses__add(&s->losses, LOSS_NO_MEMORY, 1);
	item.data = summary;
	queue__put(s->queue, &item);
	return 0;
}
