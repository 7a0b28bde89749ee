/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text sink: blocks and the summary in readable form on a terminal. The parts of a block are in
 * text_*.c.
 */
#include "export/text/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "export/sink.h"

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     40
#define WIDTH_MAX     400

#define INDENT	     "   "
#define NAME_COLUMNS 30

#define UNWATCHED_LINES 10

#define START_NOTABLE_NS NS_PER_MS

/* Show each loss with its reason: the reason is a stable key of the records. */
static void add_lost(struct text *t, const struct block_loss *lost, size_t cnt)
{
	if (!cnt)
		return;
	text__put(t, STYLE_WARN, INDENT "lost:");
	for (size_t i = 0; i < cnt; i++)
		text__putf(t, STYLE_WARN, "%s %s %s", i ? "," : "", text__grouped(lost[i].cnt).str,
			   lost[i].reason);
	text__nl(t);
}

/* "(4.7", "(34": two digits, and no exponent */
static void put_figure(struct text *t, double value, const char *unit)
{
	text__putf(t, STYLE_DIM, value < 9.95 ? " (%.2g%s" : " (%.0f%s", value, unit);
}

/* If blocks were lost, the rest does not give the rate. */
static bool lost_blocks(const struct summary *summary)
{
	for (size_t i = 0; i < summary->lost_cnt; i++)
		if (!strcmp(summary->lost[i].reason, "ring_full") ||
		    !strcmp(summary->lost[i].reason, "queue_full") ||
		    !strcmp(summary->lost[i].reason, "share_exceeded"))
			return true;
	return false;
}

/* Puts "(34 per million)", or percent for a high rate. */
static void put_rate(struct text *t, const struct summary *summary, uint64_t blocks,
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

static void put_totals(struct text *t, const struct summary *summary)
{
	text__put(t, STYLE_NONE, INDENT);
	text__put_duration(t, STYLE_NONE, summary->elapsed_ns);
	text__put(t, STYLE_NONE, " · ");
	if (!summary->loop_cnt && !summary->idle_loop && summary->unwatched.cnt) {
		text__put(t, STYLE_WARN, "nothing was watched");
		text__nl(t);
		return;
	}
	text__putf(t, STYLE_NONE, "%s dispatch%s · ", text__grouped(summary->dispatch_cnt).str,
		   summary->dispatch_cnt == 1 ? "" : "es");
	text__put_count(t, summary->block_cnt ? STYLE_JANK : STYLE_GOOD, summary->block_cnt,
			"block");
	put_rate(t, summary, summary->block_cnt, summary->dispatch_cnt);
	if (summary->hang_cnt) {
		text__put(t, STYLE_NONE, " · ");
		text__put_count(t, STYLE_HANG, summary->hang_cnt, "hang");
	}
	if (!summary->lost_cnt)
		text__put(t, STYLE_NONE, " · nothing lost");
	text__nl(t);
}

static void put_side(struct text *t, const char *side, uint64_t ns, uint64_t elapsed_ns)
{
	double pct = elapsed_ns ? 100.0 * (double)ns / (double)elapsed_ns : 0;

	text__putf(t, STYLE_DIM, "%s ", side);
	text__put_duration(t, STYLE_DIM, ns);
	if (!elapsed_ns)
		return;
	put_figure(t, pct, "% CPU");
	text__put(t, STYLE_DIM, "), ");
}

static void put_cost(struct text *t, const struct summary *summary)
{
	text__put(t, STYLE_DIM, INDENT "own cost: ");
	if (summary->bpf_known && summary->dispatch_cnt)
		text__putf(t, STYLE_DIM, "%s ns a dispatch, ",
			   text__grouped(summary->bpf_ns / summary->dispatch_cnt).str);
	if (summary->bpf_known)
		put_side(t, "kernel", summary->bpf_ns, summary->elapsed_ns);
	put_side(t, "user", summary->user_cpu_ns, summary->elapsed_ns);
	text__putf(t, STYLE_DIM, "%.1f MiB", (double)summary->rss_kb / 1024);
	text__nl(t);
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

static void put_quantile(struct text *t, const struct durations *durations, const char *name,
			 unsigned permille)
{
	uint64_t ns;

	if (!durations__quantile(durations, permille, &ns))
		return;
	text__putf(t, STYLE_DIM, " · %s ", name);
	text__put_duration(t, STYLE_DIM, ns);
}

/* "1.02 µs ▕▁▅█▃▁  ▁▏ 537 ms": octaves, from the first non-empty one to the end of the last. */
static void put_octaves(struct text *t, const struct durations *durations)
{
	unsigned first = 0, last = DURATIONS_LOG2_CNT;

	while (first < last && !durations__log2(durations, first))
		first++;
	while (last > first && !durations__log2(durations, last - 1))
		last--;
	text__put_duration(t, STYLE_DIM, 1ull << first);
	text__put(t, STYLE_DIM, " ▕");
	for (unsigned i = first; i < last; i++)
		text__put(t, STYLE_GOOD, hist_cell(durations__log2(durations, i)));
	text__put(t, STYLE_DIM, "▏ ");
	text__put_duration(t, STYLE_DIM, 1ull << last);
	text__put(t, STYLE_DIM, last < DURATIONS_LOG2_CNT ? "" : " and more");
}

static void put_figures(struct text *t, const struct durations *durations)
{
	put_quantile(t, durations, "p50", 500);
	put_quantile(t, durations, "p99", 990);
	if (durations->max_ns) {
		text__put(t, STYLE_DIM, " · max ");
		text__put_duration(t, STYLE_DIM, durations->max_ns);
	}
	text__nl(t);
}

static void put_hist(struct text *t, const struct durations *durations)
{
	if (!durations->total)
		return;
	text__put(t, STYLE_NONE, INDENT INDENT);
	put_octaves(t, durations);
	put_figures(t, durations);
}

/* Start delays of dispatches, shown only above the noise of an idle machine. */
static void put_starts(struct text *t, const struct durations *starts)
{
	if (starts->max_ns < START_NOTABLE_NS)
		return;
	text__put(t, STYLE_DIM, INDENT INDENT "late starts");
	put_figures(t, starts);
}

static void put_loop(struct text *t, const struct summary *summary, const struct loop_hist *loop)
{
	text__putf(t, STYLE_NONE, INDENT "%s ", hist__loop(loop));
	text__put_cut(t, STYLE_BOLD, loop->process ? loop->process : "?", NAME_COLUMNS);
	text__putf(t, STYLE_NONE, " (pid %" PRIu32 "): %s dispatch%s, ", loop->pid,
		   text__grouped(loop->dispatch_cnt).str, loop->dispatch_cnt == 1 ? "" : "es");
	text__put_count(t, loop->block_cnt ? STYLE_JANK : STYLE_NONE, loop->block_cnt, "block");
	put_rate(t, summary, loop->block_cnt, loop->dispatch_cnt);
	text__nl(t);
	put_hist(t, &loop->durations);
	put_starts(t, &loop->starts);
}

static void put_unwatched(void *ctx, const char *line)
{
	struct text *t = ctx;

	text__put(t, STYLE_WARN, INDENT "not watched:");
	text__wrap(t, STYLE_NONE, INDENT INDENT, line);
	text__nl(t);
}

/* "of uid 1000: 1,234 records, 5 stacks" */
static void add_over_share(struct text *t, const struct over_share *user)
{
	const char *sep = ": ";

	text__put(t, STYLE_WARN, INDENT "over the share: ");
	if (user->uid == UID_UNKNOWN)
		text__put(t, STYLE_NONE, "other users");
	else
		text__putf(t, STYLE_NONE, "uid %u", user->uid);
#define PUT_SHARE(nr, NAME, field)                                                                 \
	if (user->cnt[nr]) {                                                                       \
		text__putf(t, STYLE_NONE, "%s%s " #field, sep, text__grouped(user->cnt[nr]).str);  \
		sep = ", ";                                                                        \
	}
	JANK_SHARES(PUT_SHARE)
#undef PUT_SHARE
	text__nl(t);
}

static void add_summary(struct text *t, const struct summary *summary)
{
	text__put(t, STYLE_DIM, "━━ ");
	text__put(t, STYLE_BOLD, "summary ");
	text__fill(t, STYLE_DIM, "━", t->width);
	text__nl(t);
	put_totals(t, summary);
	add_lost(t, summary->lost, summary->lost_cnt);
	for (size_t i = 0; i < summary->over_share.cnt; i++)
		add_over_share(t, &summary->over_share.users[i]);
	if (summary->stopped_cnt) {
		text__put(t, STYLE_WARN, INDENT);
		text__put_count(t, STYLE_WARN, summary->stopped_cnt, "block");
		text__put(t, STYLE_NONE,
			  " not shown: the process was stopped; --debugging shows them");
		text__nl(t);
	}
	unwatched__each_line(&summary->unwatched, UNWATCHED_LINES, put_unwatched, t);
	put_cost(t, summary);
	for (size_t i = 0; i < summary->loop_cnt; i++)
		put_loop(t, summary, &summary->loops[i]);
}

/* --- the sink */

static int text__write(struct text *t)
{
	int err = t->out.failed ? -ENOMEM : output__write(t->fd, t->out.data, t->out.len);

	strbuf__reset(&t->out);
	t->col = 0;
	return err;
}

/* With -q, a block is only its headline. */
static int text__block(struct sink *sink, const struct block *block)
{
	struct text *t = (struct text *)sink;

	text__add_headline(t, block);
	if (t->verbosity > 0)
		text__add_who(t, block);
	if (t->verbosity >= 0) {
		if (t->verbosity > 0)
			text__add_message(t, block);
		text__add_bar(t, block);
		text__add_machine(t, block);
		text__add_facts(t, block);
		text__add_chain(t, block);
		text__add_stacks(t, block);
		add_lost(t, block->lost, block->lost_cnt);
		text__nl(t);
	}
	return text__write(t);
}

static int text__summary(struct sink *sink, const struct summary *summary)
{
	struct text *t = (struct text *)sink;

	add_summary(t, summary);
	return text__write(t);
}

static void text__free(struct sink *sink)
{
	struct text *t = (struct text *)sink;

	strbuf__free(&t->out);
	free(t);
}

static const struct sink_ops text_ops = {
	.name = "text",
	.block = text__block,
	.summary = text__summary,
	.free = text__free,
};

static unsigned clamp_width(unsigned width)
{
	if (!width)
		return WIDTH_DEFAULT;
	if (width < WIDTH_MIN)
		return WIDTH_MIN;
	return width < WIDTH_MAX ? width : WIDTH_MAX;
}

struct sink *sink_text__new(int fd, bool color, unsigned width, int verbosity)
{
	struct text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sink.ops = &text_ops;
	t->fd = fd;
	t->color = color;
	t->width = clamp_width(width);
	t->verbosity = verbosity;
	return &t->sink;
}
