/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary of a run: its totals, losses, what was not watched, the cost, and each loop. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "export/text/text.h"
#include "export/values.h"
#include "model/not_shown.h"
#include "model/unwatched.h"

#define INDENT	     "   "
#define NAME_COLUMNS 30

#define UNWATCHED_LINES 10

/* With fewer, what does not depend on dispatches (context switches, samples) is most of it. */
#define DISPATCHES_MIN 1000

#define SATURATED_PCT 90.0 /* CPU use from which the machine is said to have too few CPUs */

#define START_NOTABLE_NS NS_PER_MS
#define LAST_NOTABLE_NS	 (10 * NS_PER_MS)

#define LOG2_CNT 35 /* elements of Loop.log2; the last one also counts all longer durations */

static void put_reasons(struct text *t, const Jankbpf__Lost *lost, bool detail)
{
	struct loss_count loss;
	bool any = false;

	for (unsigned i = 0; value__next_loss(lost, &i, &loss);) {
		if ((loss.takes == LOSS_TAKES_DETAIL) != detail)
			continue;
		if (!any)
			text__put(t, STYLE_WARN, detail ? INDENT "left out:" : INDENT "lost:");
		text__putf(t, STYLE_WARN, "%s %s %s", any ? "," : "", text__grouped(loss.cnt).str,
			   loss.reason);
		any = true;
	}
	if (any)
		text__nl(t);
}

/* Show each loss with its reason: the reason is a stable key of the records. */
void text__add_lost(struct text *t, const Jankbpf__Lost *lost)
{
	put_reasons(t, lost, false);
	put_reasons(t, lost, true);
}

static void put_meaning(struct text *t, const struct loss_count *loss, const char *lost)
{
	text__putf(t, STYLE_WARN, INDENT "%s%s %s:", lost, text__grouped(loss->cnt).str,
		   loss->reason);
	text__wrap(t, STYLE_NONE, INDENT INDENT, loss->meaning);
	text__nl(t);
}

/* What is only detail must not look like lost blocks. */
static void put_detail_head(struct text *t, const Jankbpf__Summary *summary, bool exact)
{
	uint64_t all = summary->blocks + summary->hangs;

	text__put(t, STYLE_NONE, INDENT);
	text__put(t, STYLE_NONE,
		  exact ? "all durations are exact; detail was left out" : "detail was left out");
	if (summary->has_incomplete)
		text__putf(t, STYLE_NONE, " of %s of %s record%s",
			   text__grouped(summary->incomplete).str, text__grouped(all).str,
			   all == 1 ? "" : "s");
	text__put(t, STYLE_NONE, ":");
	text__nl(t);
}

/* Each loss of the run with its meaning: lost blocks and times first, then what is only detail. */
static void put_losses(struct text *t, const Jankbpf__Summary *summary)
{
	bool exact = true, any = false;
	struct loss_count loss;

	for (unsigned i = 0; value__next_loss(summary->lost, &i, &loss);) {
		if (loss.takes == LOSS_TAKES_DETAIL)
			continue;
		put_meaning(t, &loss, "lost: ");
		exact &= loss.takes != LOSS_TAKES_TIMES;
	}
	for (unsigned i = 0; value__next_loss(summary->lost, &i, &loss);) {
		if (loss.takes != LOSS_TAKES_DETAIL)
			continue;
		if (!any)
			put_detail_head(t, summary, exact);
		put_meaning(t, &loss, INDENT);
		any = true;
	}
}

/* "(4.7", "(34": two digits, and no exponent */
static void put_figure(struct text *t, double value, const char *unit)
{
	text__putf(t, STYLE_DIM, value < 9.95 ? " (%.2g%s" : " (%.0f%s", value, unit);
}

/* If blocks were lost, the rest does not give the rate. */
static bool lost_blocks(const Jankbpf__Summary *summary)
{
	const Jankbpf__Lost *lost = summary->lost;

	return lost && (lost->ring_full || lost->queue_full || lost->share_exceeded);
}

static void put_lost_nothing(struct text *t, const Jankbpf__Lost *lost)
{
	struct loss_count loss;
	bool any = false;

	for (unsigned pos = 0; value__next_loss(lost, &pos, &loss); any = true)
		if (loss.takes != LOSS_TAKES_DETAIL)
			return;
	text__put(t, STYLE_NONE, any ? " · no block lost" : " · nothing lost");
}

/* Puts "(34 per million)", or percent for a high rate. */
static void put_rate(struct text *t, const Jankbpf__Summary *summary, uint64_t blocks,
		     uint64_t dispatches)
{
	double rate = dispatches ? (double)blocks / (double)dispatches : 0;

	if (!blocks || !dispatches || lost_blocks(summary))
		return;
	if (rate >= 0.001)
		put_figure(t, rate * 100, "%");
	else
		put_figure(t, rate * 1e6, " per million");
	text__put(t, STYLE_DIM, ")");
}

static void put_totals(struct text *t, const Jankbpf__Summary *summary)
{
	text__put(t, STYLE_NONE, INDENT);
	text__put_duration(t, STYLE_NONE, summary->elapsed_ns);
	text__put(t, STYLE_NONE, " · ");
	if (!summary->n_loops && !summary->idle_loop && summary->n_not_watched) {
		text__put(t, STYLE_WARN, "nothing was watched");
		text__nl(t);
		return;
	}
	text__putf(t, STYLE_NONE, "%s dispatch%s · ", text__grouped(summary->dispatches).str,
		   summary->dispatches == 1 ? "" : "es");
	text__put_count(t, summary->blocks ? STYLE_JANK : STYLE_GOOD, summary->blocks, "block");
	put_rate(t, summary, summary->blocks, summary->dispatches);
	if (summary->hangs) {
		text__put(t, STYLE_NONE, " · ");
		text__put_count(t, STYLE_HANG, summary->hangs, "hang");
	}
	put_lost_nothing(t, summary->lost);
	text__nl(t);
}

/*
 * Most of the time of the blocks was want of a CPU: then the machine, or the cgroup, is to blame
 * for most of them.
 */
static void put_saturated(struct text *t, const Jankbpf__Stalled *stalled)
{
	struct strbuf words = STRBUF_INIT;
	uint64_t ns;

	if (!stalled || stalled->cpu_wait_ns <= stalled->ns / 2)
		return;
	ns = stalled->cpu_wait_ns;
	if (stalled->throttled_ns > ns / 2) {
		ns = stalled->throttled_ns;
		strbuf__addf(&words, "saturated: the CPU quota of %s%s was used up for ",
			     stalled->quota_cgroup ? "cgroup " : "a cgroup",
			     stalled->quota_cgroup ? stalled->quota_cgroup : "");
	} else if (stalled->has_busy_pct && stalled->busy_pct >= SATURATED_PCT) {
		strbuf__addf(&words,
			     "saturated: the machine's CPUs were %.0f %% busy, and wanted for ",
			     stalled->busy_pct);
	} else {
		strbuf__adds(&words, "short of a CPU for ");
	}
	clock__add_duration(&words, ns);
	strbuf__addf(&words, ", %.0f %% of the blocks' time",
		     100.0 * (double)ns / (double)stalled->ns);
	text__wrap(t, STYLE_WARN, INDENT, strbuf__str(&words));
	text__nl(t);
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

/* The end of a run costs as much as a second of it: a share of less says nothing. */
static void add_side(struct strbuf *sb, const char *side, uint64_t ns, uint64_t elapsed_ns)
{
	double pct = elapsed_ns ? 100.0 * (double)ns / (double)elapsed_ns : 0;

	strbuf__addf(sb, "%s ", side);
	clock__add_duration(sb, ns);
	if (elapsed_ns >= NS_PER_SEC)
		strbuf__addf(sb, pct < 9.95 ? " (%.2g%% CPU)" : " (%.0f%% CPU)", pct);
	strbuf__adds(sb, ", ");
}

/* The start-up is once, however long the run is. */
static void put_cost(struct text *t, const Jankbpf__Summary *summary)
{
	const Jankbpf__Cost *cost = summary->cost;
	struct strbuf words = STRBUF_INIT;
	uint64_t start_ns;

	if (!cost || !cost->rss_kb) /* a replay has none */
		return;
	start_ns = cost->start_cpu_ns < cost->user_cpu_ns ? cost->start_cpu_ns : 0;
	strbuf__adds(&words, "own cost while tracing: ");
	if (cost->has_bpf_ns && summary->dispatches >= DISPATCHES_MIN)
		strbuf__addf(&words, "%s ns a dispatch, ",
			     text__grouped(cost->bpf_ns / summary->dispatches).str);
	if (cost->has_bpf_ns)
		add_side(&words, "kernel", cost->bpf_ns, summary->elapsed_ns);
	add_side(&words, "user", cost->user_cpu_ns - start_ns, summary->elapsed_ns);
	strbuf__addf(&words, "%.1f MiB",
		     (double)(cost->has_pss_kb ? cost->pss_kb : cost->rss_kb) / 1024);
	if (start_ns) {
		strbuf__adds(&words, "; before it: ");
		clock__add_duration(&words, start_ns);
		strbuf__adds(&words, " of CPU time");
	}
	text__wrap(t, STYLE_DIM, INDENT, strbuf__str(&words));
	text__nl(t);
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

/*
 * One dispatch in 10,000 must be visible next to the others: each step up is eight times as many.
 */
static const char *hist_cell(uint64_t cnt)
{
	static const char *const steps[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	unsigned step = 0;

	for (; cnt && step < 8; cnt >>= 3)
		step++;
	return steps[step];
}

static void put_quantile(struct text *t, const char *name, bool known, uint64_t ns)
{
	if (!known)
		return;
	text__putf(t, STYLE_DIM, " · %s ", name);
	text__put_duration(t, STYLE_DIM, ns);
}

/* "1.02 µs ▕▁▅█▃▁  ▁▏ 537 ms": octaves, from the first non-empty one to the end of the last. */
static void put_octaves(struct text *t, const Jankbpf__Loop *loop)
{
	size_t first = 0, last = loop->n_log2 < LOG2_CNT ? loop->n_log2 : LOG2_CNT;

	while (first < last && !loop->log2[first])
		first++;
	while (last > first && !loop->log2[last - 1])
		last--;
	text__put_duration(t, STYLE_DIM, 1ull << first);
	text__put(t, STYLE_DIM, " ▕");
	for (size_t i = first; i < last; i++)
		text__put(t, STYLE_GOOD, hist_cell(loop->log2[i]));
	text__put(t, STYLE_DIM, "▏ ");
	text__put_duration(t, STYLE_DIM, 1ull << last);
	text__put(t, STYLE_DIM, last < LOG2_CNT ? "" : " and more");
}

static void put_hist(struct text *t, const Jankbpf__Loop *loop)
{
	if (!loop->n_log2)
		return;
	text__put(t, STYLE_NONE, INDENT INDENT);
	put_octaves(t, loop);
	put_quantile(t, "p50", loop->has_p50_ns, loop->p50_ns);
	put_quantile(t, "p99", loop->has_p99_ns, loop->p99_ns);
	put_quantile(t, "max", loop->has_max_ns, loop->max_ns);
	text__nl(t);
}

/* Start delays of dispatches, shown only above the noise of an idle machine. */
static void put_starts(struct text *t, const Jankbpf__StartDelays *starts)
{
	if (!starts || starts->max_ns < START_NOTABLE_NS)
		return;
	text__put(t, STYLE_DIM, INDENT INDENT "late starts");
	put_quantile(t, "p50", starts->has_p50_ns, starts->p50_ns);
	put_quantile(t, "p99", starts->has_p99_ns, starts->p99_ns);
	put_quantile(t, "max", starts->has_max_ns, starts->max_ns);
	text__nl(t);
}

static void put_first_turn(struct text *t, const Jankbpf__Loop *loop)
{
	if (!loop->has_first_turn_ns)
		return;
	text__put(t, STYLE_DIM, INDENT INDENT "first turn ");
	text__put_duration(t, STYLE_DIM, loop->first_turn_ns);
	text__put(t, STYLE_DIM, " after the start");
	text__nl(t);
}

static void put_loop(struct text *t, const Jankbpf__Summary *summary, const Jankbpf__Loop *loop)
{
	text__putf(t, STYLE_NONE, INDENT "%s ", loop->loop ? loop->loop : "unknown");
	if (loop->pid) {
		text__put_cut(t, STYLE_BOLD, value__name(loop->process), NAME_COLUMNS);
		text__putf(t, STYLE_NONE, " (pid %" PRIu32 ")", loop->pid);
	} else {
		text__put(t, STYLE_BOLD, "of other processes");
	}
	text__putf(t, STYLE_NONE, ": %s dispatch%s, ", text__grouped(loop->dispatches).str,
		   loop->dispatches == 1 ? "" : "es");
	text__put_count(t, loop->blocks ? STYLE_JANK : STYLE_NONE, loop->blocks, "block");
	put_rate(t, summary, loop->blocks, loop->dispatches);
	text__nl(t);
	put_hist(t, loop);
	put_starts(t, loop->start_delays);
	put_first_turn(t, loop);
}

/* --- what was not watched */

static void put_unwatched(void *ctx, enum unwatched_reason reason, const char *line)
{
	struct text *t = ctx;

	text__put(t, reason == UNWATCHED_SIGNALS ? STYLE_DIM : STYLE_WARN, INDENT "not watched:");
	text__wrap(t, STYLE_NONE, INDENT INDENT, line);
	text__nl(t);
}

static void add_unwatched(struct text *t, const Jankbpf__Summary *summary)
{
	struct unwatched_list list = { .more_cnt = summary->not_watched_more };

	for (size_t i = 0; i < summary->n_not_watched; i++) {
		int res = unwatched__add_record(&list, summary->not_watched[i]);

		list.more_cnt += res == -EINVAL;
		t->out.failed |= res == -ENOMEM;
	}
	t->out.failed |= unwatched__each_line(&list, UNWATCHED_LINES, put_unwatched, t) < 0;
	unwatched__free(&list);
}

/* "over the share: uid 1000: 1,234 records, 5 stacks" */
static void add_over_share(struct text *t, const Jankbpf__OverShare *user)
{
	const struct {
		const char *what;
		uint64_t cnt;
	} lost[] = {
		{ "records", user->records },
		{ "stacks", user->stacks },
		{ "threads", user->threads },
	};
	const char *sep = ": ";

	text__put(t, STYLE_WARN, INDENT "over the share: ");
	if (user->has_uid)
		text__putf(t, STYLE_NONE, "uid %u", user->uid);
	else
		text__put(t, STYLE_NONE, "other users");
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		if (!lost[i].cnt)
			continue;
		text__putf(t, STYLE_NONE, "%s%s %s", sep, text__grouped(lost[i].cnt).str,
			   lost[i].what);
		sep = ", ";
	}
	text__nl(t);
}

/* "not shown: 7 of stopped processes (--debugging shows them), 3 of loops that -l leaves out" */
static void add_not_shown(struct text *t, const Jankbpf__Summary *summary)
{
	struct strbuf words = STRBUF_INIT;

	for (size_t i = 0; i < summary->n_not_shown; i++)
		strbuf__addf(&words, "%s%s %s", i ? ", " : "",
			     text__grouped(summary->not_shown[i]->blocks).str,
			     not_shown__phrase(value__name(summary->not_shown[i]->reason)));
	if (words.len) {
		text__put(t, STYLE_WARN, INDENT "blocks not shown:");
		text__wrap(t, STYLE_NONE, INDENT INDENT, strbuf__str(&words));
		text__nl(t);
	}
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

/* "ignored: 12 blocks by --ignore 'sync_*'" */
static void add_ignored(struct text *t, const Jankbpf__Ignored *ignored)
{
	text__put(t, STYLE_NONE, INDENT "ignored: ");
	text__put_count(t, ignored->records ? STYLE_WARN : STYLE_NONE, ignored->records, "block");
	text__put(t, STYLE_NONE, " by --ignore '");
	text__put_cut(t, STYLE_NONE, value__name(ignored->pattern), NAME_COLUMNS);
	text__put(t, STYLE_NONE, "'");
	text__nl(t);
}

/* "commands: 12 run, 1 failed, 2 killed at --react-timeout, 184 skipped" */
static void add_histories(struct text *t, const Jankbpf__Histories *histories)
{
	if (!histories)
		return;
	text__putf(t, STYLE_NONE, INDENT "histories: %s", text__grouped(histories->written).str);
	if (histories->incomplete)
		text__putf(t, STYLE_WARN, ", %s with gaps (%s in all)",
			   text__grouped(histories->incomplete).str,
			   text__grouped(histories->gaps).str);
	if (histories->blocks_left_out)
		text__putf(t, STYLE_WARN, ", %s blocks not drawn",
			   text__grouped(histories->blocks_left_out).str);
	text__nl(t);
}

static void add_reactions(struct text *t, const Jankbpf__Reactions *reactions)
{
	if (!reactions)
		return;
	text__putf(t, STYLE_NONE, INDENT "commands: %s run", text__grouped(reactions->run).str);
	if (reactions->failed)
		text__putf(t, STYLE_WARN, ", %s failed", text__grouped(reactions->failed).str);
	if (reactions->timed_out)
		text__putf(t, STYLE_WARN, ", %s killed at --react-timeout",
			   text__grouped(reactions->timed_out).str);
	if (reactions->skipped)
		text__putf(t, STYLE_WARN, ", %s skipped", text__grouped(reactions->skipped).str);
	text__nl(t);
}

void text__add_summary(struct text *t, const Jankbpf__Summary *summary)
{
	text__put(t, STYLE_DIM, "━━ ");
	text__put(t, STYLE_BOLD, "summary ");
	text__fill(t, STYLE_DIM, "━", t->width);
	text__nl(t);
	put_saturated(t, summary->stalled);
	put_totals(t, summary);
	put_losses(t, summary);
	for (size_t i = 0; i < summary->n_over_share; i++)
		add_over_share(t, summary->over_share[i]);
	add_not_shown(t, summary);
	for (size_t i = 0; i < summary->n_ignored; i++)
		add_ignored(t, summary->ignored[i]);
	add_reactions(t, summary->reactions);
	add_histories(t, summary->histories);
	add_unwatched(t, summary);
	put_cost(t, summary);
	for (size_t i = 0; i < summary->n_loops; i++)
		put_loop(t, summary, summary->loops[i]);
	text__add_faults(t, summary);
}

/* One line: what the loops did in it, and the longest open dispatch. */
void text__add_interval(struct text *t, const Jankbpf__Interval *interval)
{
	const Jankbpf__OpenDispatch *open = interval->n_open ? interval->open[0] : NULL;
	struct strbuf end = STRBUF_INIT;

	if (!interval->n_loops && interval->elapsed_ns < LAST_NOTABLE_NS)
		return; /* the rest before the run's end */
	value__add_end(&end, interval);
	text__put(t, STYLE_DIM, strbuf__str(&end));
	strbuf__free(&end);
	text__put(t, STYLE_NONE, "  ");
	text__put_duration(t, STYLE_NONE, interval->elapsed_ns);
	text__put(t, STYLE_NONE, ": ");
	text__put_count(t, STYLE_NONE, interval->n_loops, "active loop");
	text__put(t, STYLE_NONE, " · ");
	text__putf(t, STYLE_NONE, "%s %s", text__grouped(interval->dispatches).str,
		   interval->dispatches == 1 ? "dispatch" : "dispatches");
	text__put(t, STYLE_NONE, " · ");
	text__put_count(t, interval->blocks ? STYLE_JANK : STYLE_NONE, interval->blocks, "block");
	if (open) {
		text__put(t, STYLE_NONE, " · open ");
		text__put_duration(t, STYLE_HANG, open->duration_ns + open->start_delay_ns);
		text__putf(t, STYLE_NONE, " in %s (%u)", value__name(open->thread), open->tid);
	}
	text__nl(t);
	text__add_lost(t, interval->lost);
}
