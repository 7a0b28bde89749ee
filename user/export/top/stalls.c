/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/top/stalls.h"

static unsigned place(const struct stalls *h, unsigned cell)
{
	return (h->at + STALLS_CELLS - cell) % STALLS_CELLS;
}

void stalls__shift(struct stalls *h)
{
	h->at = (h->at + 1) % STALLS_CELLS;
	h->blocks[h->at] = 0;
	h->stalled_ns[h->at] = 0;
}

/* The cell of a time; STALLS_CELLS: before all of them. */
static unsigned cell_of(const struct stalls_clock *clock, uint64_t t_ns)
{
	uint64_t ago;

	if (t_ns >= clock->end_ns)
		return 0;
	ago = (clock->end_ns - t_ns - 1) / clock->cell_ns + 1;
	return ago < STALLS_CELLS ? (unsigned)ago : STALLS_CELLS;
}

static uint64_t begin_of(const struct stalls_clock *clock, unsigned cell)
{
	uint64_t ago = cell * clock->cell_ns;

	return clock->end_ns > ago ? clock->end_ns - ago : 0;
}

void stalls__add(struct stalls *h, const struct stalls_clock *clock, uint64_t start_ns, uint64_t ns)
{
	uint64_t end_ns = start_ns + ns;
	unsigned cell = cell_of(clock, end_ns);

	if (cell < STALLS_CELLS)
		h->blocks[place(h, cell)]++;
	for (; cell < STALLS_CELLS && end_ns > start_ns; cell++) {
		uint64_t begin_ns = begin_of(clock, cell);

		if (begin_ns >= end_ns)
			continue;
		if (begin_ns < start_ns)
			begin_ns = start_ns;
		h->stalled_ns[place(h, cell)] += end_ns - begin_ns;
		end_ns = begin_ns;
	}
}

static unsigned known(const struct stalls_clock *clock, unsigned cells)
{
	return cells < clock->cnt ? cells : clock->cnt;
}

uint64_t stalls__blocks(const struct stalls *h, const struct stalls_clock *clock, unsigned cells)
{
	uint64_t sum = 0;

	for (unsigned i = 1; i <= known(clock, cells); i++)
		sum += h->blocks[place(h, i)];
	return sum;
}

uint64_t stalls__stalled_ns(const struct stalls *h, const struct stalls_clock *clock,
			    unsigned cells)
{
	uint64_t sum = 0;

	for (unsigned i = 1; i <= known(clock, cells); i++)
		sum += h->stalled_ns[place(h, i)];
	return sum;
}

static const char *const levels[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const ascii_levels[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
#define LEVELS 9

static const char *level(const struct text *t, uint64_t part, uint64_t whole)
{
	uint64_t i = part >= whole ? LEVELS - 1 : (part * (LEVELS - 1) + whole - 1) / whole;

	return t->opts.ascii ? ascii_levels[i] : levels[i];
}

void stalls__put(struct text *t, enum style style, const struct stalls *h,
		 const struct stalls_clock *clock, unsigned width)
{
	unsigned each = width ? (STALLS_CELLS - 1) / width : 0;

	for (unsigned col = width; each && col-- > 0;) {
		uint64_t sum = 0;

		for (unsigned i = 1; i <= each; i++)
			sum += h->stalled_ns[place(h, col * each + i)];
		text__put(t, style, level(t, sum, each * clock->cell_ns));
	}
}
