/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block's headline, readable in two seconds: how long and which thread; then the reason and the
 * place, in a sentence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/text/text.h"
#include "export/values.h"

#define INDENT	      "   "
#define CLOCK_COLUMNS 16 /* " 10:20:30.123 ━━" */
#define NAME_COLUMNS  40
#define TRUSTED	      0.7 /* minimum confidence */

static bool is_loop(const Jankbpf__Block *block, const char *name)
{
	return block->loop && !strcmp(block->loop, name);
}

/* Only where Android would report an ANR to the user. */
static void put_anr(struct text *t, const Jankbpf__Block *block)
{
	if (block->anr && is_loop(block, "android-looper"))
		text__putf(t, STYLE_HANG, " (ANR at %" PRIu32 " s)", block->anr);
}

static void put_wall_time(struct text *t, const Jankbpf__Block *block, bool open)
{
	if (open) {
		text__put(t, STYLE_HANG, "STILL OPEN after ");
		text__put_duration(t, STYLE_HANG, value__delay(block));
		put_anr(t, block);
		return;
	}
	text__put_duration(t, value__is_hang(block) ? STYLE_HANG : STYLE_JANK, value__delay(block));
	if (block->hang_reported)
		text__put(t, STYLE_HANG, ", the hang's end");
}

static const char *known(const char *name)
{
	return name && *name ? name : "?";
}

static void put_who(struct text *t, const Jankbpf__Block *block)
{
	text__put_cut(t, STYLE_BOLD, known(block->process), NAME_COLUMNS);
	if (block->role) {
		text__put(t, STYLE_NONE, " ");
		text__put_cut(t, STYLE_NONE, block->role, NAME_COLUMNS);
	}
	if (block->tid == block->pid) {
		text__putf(t, STYLE_NONE, " (pid %" PRIu32 ")", block->pid);
		return;
	}
	text__put(t, STYLE_DIM, "/");
	text__put_cut(t, STYLE_BOLD, known(block->thread), NAME_COLUMNS);
	text__putf(t, STYLE_NONE, " (pid %" PRIu32 ", tid %" PRIu32 ")", block->pid, block->tid);
}

static void put_clock(struct text *t, const Jankbpf__Block *block)
{
	struct strbuf sb = STRBUF_INIT;

	clock__add_local(&sb, " %H:%M:%S.%L ", value__real_ns(block, block->start_ns));
	text__put(t, STYLE_DIM, strbuf__str(&sb));
	strbuf__free(&sb);
}

static void put_app_frame(struct text *t, const Jankbpf__Frame *frame)
{
	struct strbuf name = STRBUF_INIT;

	if (!frame->function && !frame->module)
		return;
	text__put(t, STYLE_NONE, ", in ");
	frame__add_place(&name, frame, true);
	text__put(t, STYLE_BOLD, strbuf__str(&name));
	if (frame->function && frame->module && *frame->module)
		text__putf(t, STYLE_DIM, " (%s)", module__base(frame->module));
	strbuf__free(&name);
}

static bool is_of_screen(const Jankbpf__Block *block)
{
	static const char *const names[] = { "android-looper", "qt", "gtk", "glib" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_loop(block, names[i]))
			return true;
	return false;
}

/*
 * Uses the display's missed frames where they were counted, else those by --fps. Frames matter to
 * loops of user interfaces; for others they are shown with -v.
 */
static void put_dropped(struct text *t, const Jankbpf__Block *block)
{
	struct strbuf words = STRBUF_INIT;
	uint32_t missed = block->frames ? block->frames->missed : 0;

	if ((!block->dropped_frames && !missed) || (!is_of_screen(block) && t->verbosity <= 0))
		return;
	if (missed) {
		strbuf__addf(&words, "· missed %" PRIu32 " frame%s of the display", missed,
			     missed == 1 ? "" : "s");
		if (block->frames->has_refresh_hz)
			strbuf__addf(&words, " (%.0f Hz)", block->frames->refresh_hz);
	} else {
		strbuf__addf(&words, "· %" PRIu32 " frame%s dropped", block->dropped_frames,
			     block->dropped_frames == 1 ? "" : "s");
	}
	text__wrap(t, STYLE_DIM, INDENT, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

/* Number of waiting descriptors, without the one that the loop handles next anyway. */
static void put_behind(struct text *t, const Jankbpf__Block *block)
{
	struct strbuf words = STRBUF_INIT;

	if (block->behind < 2)
		return;
	strbuf__addf(&words, "· %" PRIu32 " descriptors were ready when it was done",
		     block->behind);
	text__wrap(t, STYLE_DIM, INDENT, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_turns(struct text *t, const Jankbpf__Block *block)
{
	if (block->turns && !strcmp(block->turns, "unknown"))
		text__wrap(t, STYLE_DIM, INDENT,
			   "· may be several pieces of work: between them the thread did not wait");
}

static void put_began(struct text *t, const Jankbpf__Block *block)
{
	if (block->began)
		text__wrap(t, STYLE_DIM, INDENT,
			   "· began before the trace: took at least this long");
}

/* For a cause without a sentence. */
static void put_bare_cause(struct text *t, const Jankbpf__Cause *cause)
{
	text__put(t, STYLE_NONE, INDENT);
	text__putf(t, STYLE_BOLD, "%s %s",
		   text__pct((uint64_t)(value__share(cause->share) * 1e6), 1000000).str,
		   cause->kind);
	if (cause->frame)
		put_app_frame(t, cause->frame);
}

/* Marks a sentence of low confidence; with -v every sentence shows its confidence. */
static void put_confidence(struct text *t, const Jankbpf__Cause *cause)
{
	struct strbuf words = STRBUF_INIT;

	if (cause->confidence >= TRUSTED && t->verbosity <= 0)
		return;
	strbuf__addf(&words, "(confidence %.0f%%)", value__share(cause->confidence) * 100);
	text__wrap(t, STYLE_DIM, INDENT, strbuf__str(&words));
	strbuf__free(&words);
}

/* For --sig, and to find later blocks of this fault. */
static void put_fault(struct text *t, const Jankbpf__Cause *cause)
{
	struct strbuf words = STRBUF_INIT;

	if (!cause->signature)
		return;
	strbuf__addf(&words, "· fault %.*s", SIGNATURE_SHOWN, cause->signature);
	text__wrap(t, STYLE_DIM, INDENT, strbuf__str(&words));
	t->out.failed |= words.failed;
	strbuf__free(&words);
}

static void put_verdict(struct text *t, const Jankbpf__Block *block)
{
	const Jankbpf__Cause *cause = block->cause;

	if (!cause || !cause->kind)
		return;
	if (cause->summary) {
		text__wrap(t, STYLE_BOLD, INDENT, cause->summary);
		put_confidence(t, cause);
	} else {
		put_bare_cause(t, cause);
	}
	text__put_queued(t, block);
	put_dropped(t, block);
	put_behind(t, block);
	put_turns(t, block);
	put_began(t, block);
	put_fault(t, cause);
	text__nl(t);
}

void text__add_headline(struct text *t, const Jankbpf__Block *block, bool open)
{
	bool fits;

	text__put(t, STYLE_DIM, "━━ ");
	put_wall_time(t, block, open);
	text__put(t, STYLE_NONE, "  ");
	put_who(t, block);
	text__putf(t, STYLE_NONE, " · %s", block->loop ? block->loop : "unknown");
	if (block->thread_ended)
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

/* --- with -v: the place of the block's process (container, pod, unit), and its application */

#define ID_SHOWN  12 /* digits of a container's id, as container tools show it */
#define ID_DIGITS 64

static void put_part(struct text *t, const char *label, const char *name, bool *first)
{
	if (!name)
		return;
	text__putf(t, STYLE_NONE, "%s%s ", *first ? INDENT : " · ", label);
	text__put_cut(t, STYLE_BOLD, name, text__left(t));
	*first = false;
}

static void put_application(struct text *t, const Jankbpf__Block *block)
{
	bool first = true;

	put_part(t, "service", block->service_name, &first);
	put_part(t, "of", block->service_namespace, &first);
	put_part(t, "package", block->package, &first);
	if (!first || block->service_version)
		put_part(t, "version", block->version, &first);
	put_part(t, "in", block->deployment_environment, &first);
	if (!first)
		text__nl(t);
	if (!block->reduced)
		return;
	text__putf(t, STYLE_WARN, INDENT "reduced to keep the budget: up to %s", block->reduced);
	text__nl(t);
}

void text__add_who(struct text *t, const Jankbpf__Block *block)
{
	const char *id = block->container;
	char digits[ID_SHOWN + 1];
	bool first = true;

	if (id && strlen(id) == ID_DIGITS) {
		snprintf(digits, sizeof(digits), "%.*s", ID_SHOWN, id);
		id = digits;
	}
	put_part(t, "container", id, &first);
	put_part(t, "pod", block->pod, &first);
	put_part(t, "unit", block->unit, &first);
	if (!block->container && !block->unit)
		put_part(t, "cgroup", block->cgroup, &first);
	if (block->ns_pid && block->ns_pid != block->pid) {
		text__putf(t, STYLE_NONE, "%spid %" PRIu32 " in its namespace",
			   first ? INDENT : " · ", block->ns_pid);
		first = false;
	}
	if (!first)
		text__nl(t);
	if (block->names_uid) { /* a line of its own: long names are cut */
		text__putf(t, STYLE_WARN, INDENT "names chosen by uid %" PRIu32, block->names_uid);
		text__nl(t);
	}
	put_application(t, block);
}

/*
 * --- the time bar: the parts of the delay, in proportion, and a legend with the exact times. It
 * shows sums, not an order of events, except the start delay, which comes first.
 */

#define INDENT_LEN 3
#define GAP	   "   "

#define LATE_CELL "»"

/* The bar's parts: the start delay, then the states. */
#define PART_CNT (1 + JANK_STATE_CNT)

static uint64_t part_ns(const Jankbpf__Block *block, unsigned part)
{
	return part ? value__in_state(block->time, part - 1) : block->start_delay_ns;
}

static uint32_t state_of(unsigned part)
{
	return part ? part - 1 : JANK_STATE_RUNNABLE;
}

static const char *cell_of(unsigned part)
{
	return part ? text__state_cell(part - 1) : LATE_CELL;
}

static uint64_t total_ns(const Jankbpf__Block *block)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < PART_CNT; i++)
		total += part_ns(block, i);
	return total;
}

/*
 * Distributes exactly `width` cells over the parts. Cells left by the division go to the largest
 * remainders.
 */
static void share_out(const Jankbpf__Block *block, unsigned width, unsigned *cells)
{
	double total = (double)total_ns(block), rest[PART_CNT];
	unsigned left = width;

	for (unsigned i = 0; i < PART_CNT; i++) {
		double exact = (double)part_ns(block, i) / total * width;

		cells[i] = (unsigned)exact;
		rest[i] = exact - cells[i];
		left -= cells[i] < left ? cells[i] : left;
	}
	while (left--) {
		unsigned best = 0;

		for (unsigned i = 1; i < PART_CNT; i++)
			if (rest[i] > rest[best])
				best = i;
		cells[best]++;
		rest[best] = -1;
	}
}

static void add_cells(struct text *t, unsigned part, unsigned cnt)
{
	struct strbuf run = STRBUF_INIT;

	while (cnt--)
		strbuf__adds(&run, cell_of(part));
	text__put_in_state(t, state_of(part), strbuf__str(&run));
	strbuf__free(&run);
}

static void add_legend_entry(struct text *t, unsigned part, uint64_t ns, uint64_t total)
{
	struct strbuf words = STRBUF_INIT;
	unsigned width;

	strbuf__addf(&words, " %s ", part ? value__state_word(state_of(part)) : "late start");
	clock__add_duration(&words, ns);
	strbuf__addf(&words, " %s", text__pct(ns, total).str);
	width = 1 + cells__width(strbuf__str(&words));
	if (t->col > INDENT_LEN && t->col + sizeof(GAP) - 1 + width > t->width)
		text__nl(t);
	text__put(t, STYLE_NONE, t->col ? GAP : INDENT);
	text__put_in_state(t, state_of(part), cell_of(part));
	text__put(t, STYLE_NONE, strbuf__str(&words));
	strbuf__free(&words);
}

void text__add_bar(struct text *t, const Jankbpf__Block *block)
{
	uint64_t total = total_ns(block);
	unsigned cells[PART_CNT];

	if (!total)
		return;
	share_out(block, t->width - 2 * INDENT_LEN, cells);
	text__put(t, STYLE_NONE, INDENT);
	for (unsigned i = 0; i < PART_CNT; i++)
		add_cells(t, i, cells[i]);
	text__nl(t);
	for (unsigned i = 0; i < PART_CNT; i++)
		if (text__is_shown_part(t, part_ns(block, i), total))
			add_legend_entry(t, i, part_ns(block, i), total);
	text__nl(t);
}
