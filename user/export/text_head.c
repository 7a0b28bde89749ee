/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A block's headline, two lines read in two seconds: how long and who; why and where. After the
 * bar, one line says what the machine did meanwhile.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "export/cells.h"
#include "export/frame.h"
#include "export/text.h"

#define INDENT	      "   "
#define CLOCK_COLUMNS 16 /* " 10:20:30.123 ━━" */
#define NAME_COLUMNS  40
#define PREEMPTORS    3
#define MORE_COLUMNS  11 /* ", ", ", 12 more" */

/* cause.kind as a person would say it; the contract's word stands in the bar's legend. */
static const struct {
	const char *kind, *words;
} verdicts[] = {
	{ "cpu", "busy on the CPU" },
	{ "kernel", "busy in the kernel" },
	{ "page_fault", "waiting for memory (page faults)" },
	{ "runnable", "waiting for a CPU" },
	{ "futex", "waiting for another thread (futex)" },
	{ "disk", "waiting for the disk" },
	{ "sleep", "sleeping" },
	{ "poll", "waiting in a poll of its own" },
	{ "socket", "waiting for a socket" },
	{ "pipe", "waiting for a pipe" },
	{ "binder", "waiting for binder" },
	{ "stopped", "stopped, by a debugger or a signal" },
	{ "other", "waiting in the kernel" },
};

static const char *verdict_words(const char *kind)
{
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(*verdicts); i++)
		if (!strcmp(verdicts[i].kind, kind))
			return verdicts[i].words;
	return kind;
}

static void put_wall_time(struct text *t, const struct block *block)
{
	if (block->type == BLOCK_HANG) {
		text__put(t, STYLE_HANG, "STILL OPEN after ");
		text__put_duration(t, STYLE_HANG, block->duration_ns);
		return;
	}
	text__put_duration(t, *block__severity(block) == 'h' ? STYLE_HANG : STYLE_JANK,
			   block->duration_ns);
	if (block->hang_reported)
		text__put(t, STYLE_HANG, ", the hang's end");
}

static const char *known(const char *name)
{
	return name && *name ? name : "?";
}

static void put_who(struct text *t, const struct block *block)
{
	text__put_cut(t, STYLE_BOLD, known(block->process), NAME_COLUMNS);
	if (block->tid == block->pid) {
		text__putf(t, STYLE_NONE, " (pid %" PRIu32 ")", block->pid);
		return;
	}
	text__put(t, STYLE_DIM, "/");
	text__put_cut(t, STYLE_BOLD, known(block->thread), NAME_COLUMNS);
	text__putf(t, STYLE_NONE, " (pid %" PRIu32 ", tid %" PRIu32 ")", block->pid, block->tid);
}

static void put_clock(struct text *t, const struct block *block)
{
	struct strbuf sb = STRBUF_INIT;

	clock__add_local(&sb, " %H:%M:%S.%L ", block->start_ns + (uint64_t)block->real_offset_ns);
	text__put(t, STYLE_DIM, strbuf__str(&sb));
	strbuf__free(&sb);
}

static void put_app_frame(struct text *t, const struct frame *frame)
{
	struct strbuf name = STRBUF_INIT;

	if (!frame->function && !frame->module)
		return;
	text__put(t, STYLE_NONE, ", in ");
	if (frame->function)
		function__add_short(&name, frame->function, "<…>", false);
	else
		strbuf__addf(&name, "+0x%" PRIx64, frame->offset);
	text__put(t, STYLE_BOLD, strbuf__str(&name));
	if (frame->module && *frame->module)
		text__putf(t, STYLE_DIM, " (%s)", module__base(frame->module));
	strbuf__free(&name);
}

/* Where no frame is to blame: the call in which most of such time went. */
static void put_syscall(struct text *t, const struct block *block)
{
	const struct sample *most = NULL;

	for (size_t i = 0; i < block->sample_cnt; i++) {
		const struct sample *sample = &block->samples[i];

		if (sample->syscall_name && (!most || sample->ns > most->ns) &&
		    !strcmp(state__name(sample->state), block->cause.kind))
			most = sample;
	}
	if (!most)
		return;
	text__put(t, STYLE_NONE, ", in ");
	text__putf(t, STYLE_BOLD, "%s()", most->syscall_name);
}

static bool is_of_screen(const struct block *block)
{
	static const char *const names[] = { "android-looper", "qt", "gtk", "glib" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(block__loop(block), names[i]))
			return true;
	return false;
}

/* Frames of a screen mean something to the loop of a user interface; for others on request. */
static void put_dropped(struct text *t, const struct block *block)
{
	if (!block->dropped_frames || (!is_of_screen(block) && t->verbosity <= 0))
		return;
	text__put(t, STYLE_DIM, " · ");
	text__put_count(t, STYLE_DIM, block->dropped_frames, "frame");
	text__put(t, STYLE_DIM, " dropped");
}

static void put_verdict(struct text *t, const struct block *block)
{
	const struct cause *cause = &block->cause;

	if (!cause->kind)
		return;
	text__put(t, STYLE_NONE, INDENT);
	text__putf(t, STYLE_BOLD, "%s %s",
		   text__pct((uint64_t)(cause__share(cause) * 1e6), 1000000).str,
		   verdict_words(cause->kind));
	if (cause->frame)
		put_app_frame(t, cause->frame);
	else
		put_syscall(t, block);
	text__put_queued(t, block);
	put_dropped(t, block);
	text__nl(t);
}

void text__add_headline(struct text *t, const struct block *block)
{
	bool fits;

	text__put(t, STYLE_DIM, "━━ ");
	put_wall_time(t, block);
	text__put(t, STYLE_NONE, "  ");
	put_who(t, block);
	text__putf(t, STYLE_NONE, " · %s", block__loop(block));
	if (block->ended_by_exit)
		text__put(t, STYLE_NONE, " · thread ended");
	fits = text__put_message(t, block, t->width - CLOCK_COLUMNS - 1);
	text__put(t, STYLE_NONE, " ");
	text__fill(t, STYLE_DIM, "━", t->width - CLOCK_COLUMNS);
	put_clock(t, block);
	text__fill(t, STYLE_DIM, "━", t->width);
	text__nl(t);
	if (!fits && t->verbosity <= 0)
		text__add_phrase(t, block);
	put_verdict(t, block);
}

/* As many as have room, whole ones. */
static void put_preemptors(struct text *t, const struct block *block)
{
	struct strbuf words = STRBUF_INIT;
	size_t cnt = block->preemptor_cnt, i;

	for (i = 0; i < cnt && i < PREEMPTORS; i++) {
		const struct other_task *task = &block->preemptors[i];

		strbuf__reset(&words);
		strbuf__addf(&words, "%s (%" PRIu32 ") ", task->comm, task->pid);
		clock__add_duration(&words, task->ns);
		if (i && cells__width(strbuf__str(&words)) + MORE_COLUMNS > text__left(t))
			break;
		text__put(t, STYLE_NONE, i ? ", " : " · ran instead: ");
		text__put(t, STYLE_NONE, strbuf__str(&words));
	}
	if (i < cnt)
		text__putf(t, STYLE_NONE, ", %zu more", cnt - i);
	strbuf__free(&words);
}

static void put_load(struct text *t, const struct machine_load *load)
{
	if (load->total_pct >= 0)
		text__putf(t, STYLE_NONE, ": CPUs %.0f%% used", load->total_pct);
	else if (!load->busy)
		text__put(t, STYLE_NONE, ": not busy");
	if (load->process_pct >= 0)
		text__putf(t, STYLE_NONE, ", this process %.0f%%", load->process_pct);
	if (load->iowait_pct >= 0.5)
		text__putf(t, STYLE_NONE, ", I/O wait %.0f%%", load->iowait_pct);
}

static void put_memory(struct text *t, const struct host_info *host)
{
	if (t->verbosity > 0 && host->mem_total_kb)
		text__putf(t, STYLE_NONE, ", memory %.1f of %.1f GiB available",
			   (double)host->mem_available_kb / (1 << 20),
			   (double)host->mem_total_kb / (1 << 20));
}

void text__add_machine(struct text *t, const struct block *block)
{
	text__put(t, STYLE_NONE, INDENT);
	if (block->load.busy)
		text__put(t, STYLE_WARN, "machine busy");
	else
		text__put(t, STYLE_NONE, "machine");
	put_load(t, &block->load);
	put_memory(t, &block->host);
	put_preemptors(t, block);
	text__nl(t);
}
