/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults in text: a later block of one in a line, and the table at the end of the summary. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/text/text.h"
#include "export/values.h"

#define INDENT	     "   "
#define NAME_COLUMNS 30

/* "busy", "slept", "waited for a CPU": the kind of a cause as a verb. */
static const char *verb_of(const char *kind)
{
	static const struct {
		const char *kind, *verb;
	} verbs[] = {
		{ "cpu", "busy" },
		{ "kernel", "busy in the kernel" },
		{ "runnable", "waited for a CPU" },
		{ "futex", "waited for a lock" },
		{ "disk", "waited for a disk" },
		{ "sleep", "slept" },
		{ "poll", "waited for events" },
		{ "socket", "waited for a socket" },
		{ "pipe", "waited for a pipe" },
		{ "binder", "waited for binder" },
		{ "page_fault", "page faults" },
		{ "stopped", "was stopped" },
		{ "filesystem", "waited for a file system" },
		{ "terminal", "waited for a terminal" },
		{ "child", "waited for a child process" },
	};

	for (size_t i = 0; kind && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(kind, verbs[i].kind))
			return verbs[i].verb;
	return "waited";
}

static void add_place(struct strbuf *sb, const Jankbpf__Frame *frame)
{
	if (!frame || (!frame->function && !frame->module))
		return;
	strbuf__adds(sb, " in ");
	frame__add_place(sb, frame, true);
}

static void put_cause(struct text *t, const char *kind, const Jankbpf__Frame *frame)
{
	struct strbuf words = STRBUF_INIT;

	strbuf__adds(&words, verb_of(kind));
	add_place(&words, frame);
	text__wrap(t, STYLE_NONE, INDENT INDENT, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

/* Not cut with "…": they are for --sig. */
static void put_signature(struct text *t, enum style style, const char *signature)
{
	text__putf(t, style, "%.*s", SIGNATURE_SHOWN, signature);
}

void text__add_repeated(struct text *t, const Jankbpf__Block *block)
{
	const Jankbpf__Cause *cause = block->cause;
	struct strbuf words = STRBUF_INIT;

	clock__add_local(&words, "%H:%M:%S  ", value__real_ns(block, block->start_ns));
	text__put(t, STYLE_DIM, strbuf__str(&words));
	text__put_duration(t, value__is_hang(block) ? STYLE_HANG : STYLE_JANK, value__delay(block));
	text__putf(t, STYLE_NONE, " ×%" PRIu64 "  ", block->occurrence);
	put_signature(t, STYLE_DIM, cause->signature);
	text__put(t, STYLE_NONE, "  ");
	text__put_cut(t, STYLE_BOLD, value__name(block->process), NAME_COLUMNS);
	text__putf(t, STYLE_NONE, " (%" PRIu32 ") ", block->pid);
	put_cause(t, cause->kind, cause->frame);
	text__nl(t);
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

/* --- the summary's table */

#define FIGURE_COLUMNS 9

/* Right-aligned: durations and counts have no fixed width. */
static void put_figure(struct text *t, enum style style, const char *str)
{
	unsigned width = cells__width(str);

	if (width < FIGURE_COLUMNS)
		text__fill(t, STYLE_NONE, " ", t->col + FIGURE_COLUMNS - width);
	text__put(t, style, str);
	text__put(t, STYLE_NONE, " ");
}

static void put_ns(struct text *t, enum style style, bool known, uint64_t ns)
{
	struct strbuf words = STRBUF_INIT;

	if (known)
		clock__add_duration(&words, ns);
	put_figure(t, style, known ? strbuf__str(&words) : "-");
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_head(struct text *t, const Jankbpf__Summary *summary)
{
	static const char *const names[] = { "blocks", "total", "p50", "max", "behind" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		put_figure(t, STYLE_DIM, names[i]);
	text__put(t, STYLE_DIM, value__name(summary->grouped_by));
	text__nl(t);
}

static bool is_by(const Jankbpf__Summary *summary, const char *word)
{
	return summary->grouped_by && !strcmp(summary->grouped_by, word);
}

/* What the blocks share, and where the longest was; on a narrow terminal below the figures. */
static void put_names(struct text *t, const Jankbpf__Summary *summary, const Jankbpf__Fault *fault)
{
	bool by_signature = is_by(summary, "signature");
	struct strbuf words = STRBUF_INIT;

	strbuf__addf(&words, "%.*s", by_signature ? SIGNATURE_SHOWN : INT_MAX,
		     by_signature && !fault->key ? "none" : value__name(fault->key));
	text__wrap(t, STYLE_BOLD, INDENT INDENT, strbuf__str(&words));
	strbuf__reset(&words);
	if (!is_by(summary, "process"))
		strbuf__addf(&words, " %s (%" PRIu32 ")", value__name(fault->process), fault->pid);
	if (!is_by(summary, "loop") && fault->loop)
		strbuf__addf(&words, " · %s", fault->loop);
	text__wrap(t, STYLE_NONE, INDENT INDENT, strbuf__str(&words));
	strbuf__reset(&words);
	if (fault->hangs)
		strbuf__addf(&words, "· %s not over", text__grouped(fault->hangs).str);
	text__wrap(t, STYLE_HANG, INDENT INDENT, strbuf__str(&words));
	text__nl(t);
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_fault(struct text *t, const Jankbpf__Summary *summary, const Jankbpf__Fault *fault)
{
	put_figure(t, STYLE_JANK, text__grouped(fault->blocks).str);
	put_ns(t, STYLE_NONE, true, fault->total_ns);
	put_ns(t, STYLE_NONE, fault->has_p50_ns, fault->p50_ns);
	put_ns(t, STYLE_NONE, true, fault->max_ns);
	put_figure(t, STYLE_NONE, fault->behind ? text__grouped(fault->behind).str : "-");
	put_names(t, summary, fault);
	if (fault->summary)
		text__wrap(t, STYLE_BOLD, INDENT INDENT, fault->summary);
	else
		put_cause(t, fault->kind, fault->frame);
	text__nl(t);
}

void text__add_faults(struct text *t, const Jankbpf__Summary *summary)
{
	size_t cnt = summary->n_faults, shown = t->opts.top ? t->opts.top : cnt;
	uint64_t more = summary->faults_more;

	if (!cnt || t->verbosity < 0)
		return;
	text__put(t, STYLE_DIM, "━━ ");
	text__put_count(t, STYLE_BOLD, cnt, "fault");
	text__put(t, STYLE_NONE, " ");
	text__fill(t, STYLE_DIM, "━", t->width);
	text__nl(t);
	put_head(t, summary);
	for (size_t i = 0; i < cnt && i < shown; i++)
		put_fault(t, summary, summary->faults[i]);
	for (size_t i = shown; i < cnt; i++)
		more += summary->faults[i]->blocks;
	if (!more)
		return;
	text__put(t, STYLE_DIM, INDENT);
	text__put_count(t, STYLE_DIM, more, "block");
	text__put(t, STYLE_DIM,
		  cnt > shown ? " of further faults; --top 0 shows all"
			      : " of further faults are not grouped");
	text__nl(t);
}
