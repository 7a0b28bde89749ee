/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/top/table.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "export/values.h"

#define STALLS_WIDTH	  30
#define WIDE_FROM	  116 /* columns of a screen that has room for all columns */
#define FAULT_STALLS_FROM 100 /* columns of a screen that has room for it */

/* Columns of numbers, right-aligned. */
enum column { COL_DISPATCHES, COL_BLOCKS, COL_STALLED, COL_P50, COL_P99, COL_MAX, COL_START, COLS };
static const struct {
	const char *title;
	int width;
	bool wide; /* only on a wide screen */
} columns[COLS] = {
	[COL_DISPATCHES] = { "DISP/S", 8, false }, [COL_BLOCKS] = { "BLK/MIN", 8, false },
	[COL_STALLED] = { "STALLED", 8, false },   [COL_P50] = { "P50", 9, true },
	[COL_P99] = { "P99", 9, false },	   [COL_MAX] = { "MAX", 9, false },
	[COL_START] = { "START P99", 10, true },
};

static unsigned process_width(const struct text *t)
{
	return t->width < WIDE_FROM ? 12 : 16;
}

static unsigned loop_width(const struct text *t)
{
	return t->width < WIDE_FROM ? 8 : 14;
}

/* Columns of a number; 0: it is not shown. */
static int width_of(const struct text *t, enum column column)
{
	return columns[column].wide && t->width < WIDE_FROM ? 0 : columns[column].width;
}

/* Text of a cell; its columns are counted, as µ has two bytes. */
static void put_right(struct text *t, enum style style, const char *str, int width)
{
	int used = (int)cells__width(str);

	if (!width)
		return;
	text__putf(t, style, "%*s", width > used ? width - used : 1, "");
	text__put(t, style, str);
}

static void put_ns(struct text *t, enum style style, bool known, uint64_t ns, int width)
{
	struct strbuf sb = STRBUF_INIT;

	if (known)
		clock__add_duration(&sb, ns);
	put_right(t, style, known ? strbuf__str(&sb) : "-", width);
	strbuf__free(&sb);
}

static void put_number(struct text *t, enum style style, double n, int width)
{
	char str[32];

	if (n < 10 && n > 0)
		snprintf(str, sizeof(str), "%.1f", n);
	else
		snprintf(str, sizeof(str), "%s", text__grouped((uint64_t)(n + 0.5)).str);
	put_right(t, style, str, width);
}

static void put_share(struct text *t, enum style style, double part, int width)
{
	char str[16];

	if (part > 0 && part < 0.0005)
		snprintf(str, sizeof(str), "<0.1 %%");
	else
		snprintf(str, sizeof(str), "%.1f %%", part * 100);
	put_right(t, style, str, width);
}

/* --- the head */

static void put_totals(struct text *t, const struct loops_view *v)
{
	struct watched_loop *loop;
	double dispatches = 0, blocks = 0;
	struct loop_values values;

	GROUPS_EACH(&v->loops, loop)
	{
		watched_loop__rates(v, loop, &values);
		dispatches += values.dispatches_per_s;
		blocks += values.blocks_per_min;
	}
	text__putf(t, STYLE_BOLD, "%zu loop%s", groups__cnt(&v->loops),
		   groups__cnt(&v->loops) == 1 ? "" : "s");
	text__put(t, STYLE_NONE, " ·");
	put_number(t, STYLE_NONE, dispatches, 1);
	text__put(t, STYLE_NONE, " dispatches/s ·");
	put_number(t, blocks > 0 ? STYLE_JANK : STYLE_NONE, blocks, 1);
	text__put(t, STYLE_NONE, " blocks/min over ");
	text__put_duration(t, STYLE_NONE, v->threshold_ns);
}

/* No false all-clear: what is not seen stands in the second line. */
static void put_missing(struct text *t, const struct loops_view *v)
{
	const struct {
		uint64_t cnt;
		const char *one, *many;
	} parts[] = {
		{ v->not_watched_cnt, "process or thread is not watched",
		  "processes or threads are not watched" },
		{ v->no_room_cnt, "loop or fault beyond the limits is not shown",
		  "loops or faults beyond the limits are not shown" },
	};
	bool first = true;

	if (!groups__cnt(&v->loops)) {
		text__put(t, STYLE_WARN, v->clock.cnt ? "no loop seen yet" : "starting");
		first = false;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!parts[i].cnt)
			continue;
		text__putf(t, STYLE_WARN, "%s%s %s", first ? "" : " · ",
			   text__grouped(parts[i].cnt).str,
			   parts[i].cnt == 1 ? parts[i].one : parts[i].many);
		first = false;
	}
	for (const struct loss_count *loss = v->losses; loss->reason; loss++)
		text__putf(t, STYLE_WARN, "%s%s %s",
			   loss > v->losses ? ", "
			   : first	    ? "lost: "
					    : " · lost: ",
			   text__grouped(loss->cnt).str, loss->reason);
}

void table__put_head(struct text *t, const struct loops_view *v)
{
	text__putf(t, STYLE_DIM, "%s  ", v->end ?: "");
	put_totals(t, v);
	if (v->elapsed_ns)
		text__putf(t, STYLE_DIM, " · own CPU %.1f %%",
			   100.0 * (double)v->own_cpu_ns / (double)v->elapsed_ns);
	text__nl(t);
	put_missing(t, v);
	text__nl(t);
}

/* --- loops */

void table__put_columns(struct text *t, enum style style, bool with_stalls)
{
	text__putf(t, style, "%8s %-*s %-*s", "PID", process_width(t), "PROCESS", loop_width(t),
		   "LOOP");
	for (enum column i = 0; i < COLS; i++)
		if (width_of(t, i))
			text__putf(t, style, "%*s", columns[i].width, columns[i].title);
	text__put(t, style, "  OPEN NOW");
	if (with_stalls && t->width > t->col + STALLS_WIDTH) {
		text__fill(t, style, " ", t->width - STALLS_WIDTH - 1);
		text__put(t, style, " LAST FIVE MINUTES");
	}
	text__fill(t, style, " ", style == STYLE_REVERSE ? t->width : 0);
	text__nl(t);
}

static void put_open(struct text *t, enum style style, const struct loops_view *v,
		     const struct watched_loop *loop)
{
	if (style == STYLE_NONE && loop->open_ns > v->threshold_ns)
		style = STYLE_HANG;
	text__put(t, style, "  ");
	if (!loop->open_ns) {
		text__put(t, style, "-");
		return;
	}
	text__put_duration(t, style, loop->open_ns);
	text__putf(t, style, " %s", loop->open_state);
	if (loop->process && strcmp(loop->open_thread, loop->process))
		text__putf(t, style, " in %s", loop->open_thread);
}

/* The colours of numbers, unless the whole row has one. */
static enum style or_style(enum style row, enum style own)
{
	return row == STYLE_NONE ? own : row;
}

static void put_names(struct text *t, enum style style, const struct watched_loop *loop)
{
	unsigned at = 9 + process_width(t) + 1;

	text__putf(t, style, "%8u ", loop->pid);
	text__put_cut(t, or_style(style, STYLE_BOLD), loop->process ?: "?", process_width(t));
	text__fill(t, style, " ", at);
	text__put_cut(t, style, loop->loop, loop_width(t));
	text__fill(t, style, " ", at + loop_width(t));
}

void table__put_loop(struct text *t, enum style style, const struct loops_view *v,
		     const struct watched_loop *loop, bool with_stalls)
{
	struct loop_values values;
	enum style jank;

	watched_loop__values(v, loop, &values);
	jank = or_style(style, values.stalled > 0 ? STYLE_JANK : STYLE_NONE);
	put_names(t, style, loop);
	put_number(t, style, values.dispatches_per_s, width_of(t, COL_DISPATCHES));
	put_number(t, jank, values.blocks_per_min, width_of(t, COL_BLOCKS));
	put_share(t, jank, values.stalled, width_of(t, COL_STALLED));
	put_ns(t, style, values.has_p50, values.p50_ns, width_of(t, COL_P50));
	put_ns(t, style, values.has_p99, values.p99_ns, width_of(t, COL_P99));
	put_ns(t, or_style(style, values.max_ns > v->threshold_ns ? STYLE_JANK : STYLE_NONE),
	       values.max_ns, values.max_ns, width_of(t, COL_MAX));
	put_ns(t, style, values.has_start, values.start_ns, width_of(t, COL_START));
	put_open(t, style, v, loop);
	if (with_stalls && t->width > t->col + STALLS_WIDTH) {
		text__fill(t, style, " ", t->width - STALLS_WIDTH);
		stalls__put(t, or_style(style, STYLE_JANK), &loop->stalls, &v->clock, STALLS_WIDTH);
	}
	text__fill(t, style, " ", style == STYLE_NONE ? 0 : t->width);
	text__nl(t);
}

/* --- faults */

void table__put_fault_columns(struct text *t, enum style style, bool with_process)
{
	text__putf(t, style, "%7s%11s%10s  %-*s  ", "BLOCKS", "TOTAL", "MAX", SIGNATURE_SHOWN,
		   "FAULT");
	if (with_process)
		text__put(t, style, "PROCESS");
	text__nl(t);
}

static void put_process(struct text *t, enum style style, const struct watched_loop *loop)
{
	text__put(t, style, loop->process ?: "?");
	text__putf(t, style, " (%u)  ", loop->pid);
}

void table__put_fault(struct text *t, enum style style, const struct loops_view *v,
		      const struct loop_fault *fault, bool with_stalls)
{
	bool with_process = !with_stalls;
	unsigned end = t->width;
	char count[40];

	with_stalls &= t->width >= FAULT_STALLS_FROM;
	if (with_stalls)
		end -= STALLS_WIDTH + 1;
	if (fault->block_cnt)
		snprintf(count, sizeof(count), "×%s", text__grouped(fault->block_cnt).str);
	else
		snprintf(count, sizeof(count), "hangs");
	put_right(t, style, count, 7);
	put_ns(t, style, fault->block_cnt, fault->total_ns, 11);
	put_ns(t, or_style(style, STYLE_JANK), true, fault->max_ns, 10);
	text__putf(t, or_style(style, STYLE_DIM), "  %-*.*s  ", SIGNATURE_SHOWN, SIGNATURE_SHOWN,
		   *fault->signature ? fault->signature : "-");
	if (with_process)
		put_process(t, or_style(style, STYLE_BOLD), fault->loop);
	text__put_cut(t, style, fault->summary && *fault->summary ? fault->summary : fault->kind,
		      end > t->col ? end - t->col : 0);
	if (with_stalls) {
		text__fill(t, style, " ", t->width - STALLS_WIDTH);
		stalls__put(t, or_style(style, STYLE_JANK), &fault->stalls, &v->clock,
			    STALLS_WIDTH);
	}
	text__fill(t, style, " ", style == STYLE_NONE ? 0 : t->width);
	text__nl(t);
}
