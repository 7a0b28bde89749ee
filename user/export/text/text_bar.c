/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time bar: where the delay went, in proportion, and its legend with the exact times. It shows sums, not an order of
 * events, but for the start delay, which comes first.
 */
#include "base/clock.h"
#include "export/cells.h"
#include "export/text/text.h"

#define INDENT	   "   "
#define INDENT_LEN 3
#define GAP	   "   "

#define LATE_CELL "»"

/* The bar's parts: the start delay, then the states. */
#define PART_CNT (1 + JANK_STATE_CNT)

static uint64_t part_ns(const struct block *block, unsigned part)
{
	return part ? block->state_ns[part - 1] : block->start_delay_ns;
}

static uint32_t state_of(unsigned part)
{
	return part ? part - 1 : JANK_STATE_RUNNABLE;
}

static const char *cell_of(unsigned part)
{
	return part ? text__state_cell(part - 1) : LATE_CELL;
}

static uint64_t total_ns(const struct block *block)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < PART_CNT; i++)
		total += part_ns(block, i);
	return total;
}

/*
 * Cells for each part, together exactly `width`: what the division leaves goes to the largest
 * rests.
 */
static void share_out(const struct block *block, unsigned width, unsigned *cells)
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

	strbuf__addf(&words, " %s ", part ? state__name(state_of(part)) : "late start");
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

void text__add_bar(struct text *t, const struct block *block)
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
		if (part_ns(block, i))
			add_legend_entry(t, i, part_ns(block, i), total);
	text__nl(t);
}
