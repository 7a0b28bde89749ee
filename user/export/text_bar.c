/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time bar: where the wall time went, in proportion, and its legend with the exact times. It
 * shows sums, not an order of events.
 */
#include "base/clock.h"
#include "export/cells.h"
#include "export/text.h"

#define INDENT	   "   "
#define INDENT_LEN 3
#define GAP	   "   "

static uint64_t total_ns(const struct block *block)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		total += block->state_ns[i];
	return total;
}

/*
 * Cells for each state, together exactly `width`: what the division leaves goes to the largest
 * rests.
 */
static void share_out(const struct block *block, unsigned width, unsigned *cells)
{
	double total = (double)total_ns(block), rest[JANK_STATE_CNT];
	unsigned left = width;

	for (uint32_t i = 0; i < JANK_STATE_CNT; i++) {
		double exact = (double)block->state_ns[i] / total * width;

		cells[i] = (unsigned)exact;
		rest[i] = exact - cells[i];
		left -= cells[i] < left ? cells[i] : left;
	}
	while (left--) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < JANK_STATE_CNT; i++)
			if (rest[i] > rest[best])
				best = i;
		cells[best]++;
		rest[best] = -1;
	}
}

static void add_cells(struct text *t, uint32_t state, unsigned cnt)
{
	struct strbuf run = STRBUF_INIT;

	while (cnt--)
		strbuf__adds(&run, text__state_cell(state));
	text__put_in_state(t, state, strbuf__str(&run));
	strbuf__free(&run);
}

static void add_legend_entry(struct text *t, uint32_t state, uint64_t ns, uint64_t total)
{
	struct strbuf words = STRBUF_INIT;
	unsigned width;

	strbuf__addf(&words, " %s ", state__name(state));
	clock__add_duration(&words, ns);
	strbuf__addf(&words, " %s", text__pct(ns, total).str);
	width = 1 + cells__width(strbuf__str(&words));
	if (t->col > INDENT_LEN && t->col + sizeof(GAP) - 1 + width > t->width)
		text__nl(t);
	text__put(t, STYLE_NONE, t->col ? GAP : INDENT);
	text__put_in_state(t, state, text__state_cell(state));
	text__put(t, STYLE_NONE, strbuf__str(&words));
	strbuf__free(&words);
}

void text__add_bar(struct text *t, const struct block *block)
{
	uint64_t total = total_ns(block);
	unsigned cells[JANK_STATE_CNT];

	if (!total)
		return;
	share_out(block, t->width - 2 * INDENT_LEN, cells);
	text__put(t, STYLE_NONE, INDENT);
	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		add_cells(t, i, cells[i]);
	text__nl(t);
	for (uint32_t i = 0; i < JANK_STATE_CNT; i++)
		if (block->state_ns[i])
			add_legend_entry(t, i, block->state_ns[i], total);
	text__nl(t);
}
