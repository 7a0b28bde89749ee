/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which unit an address belongs to. Asked of each unit's first entry, not of .debug_aranges, which not every compiler
 * writes.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/dwarf/dwarf_parts.h"

#define UNITS_MAX      (1u << 20)
#define RANGES_MAX     (2u << 20)
#define OVERLAPPED_MAX 16 /* ranges looked at that begin before an address */

struct adding {
	struct dwarf *dwarf;
	uint64_t unit;
};

static int add_range(uint64_t low, uint64_t high, void *ctx)
{
	struct adding *adding = ctx;
	struct dwarf *dwarf = adding->dwarf;

	if (dwarf->range_cnt >= RANGES_MAX)
		return -E2BIG;
	if (dwarf->range_cnt == dwarf->range_cap) {
		size_t cap = dwarf->range_cap ? 2 * dwarf->range_cap : 64;
		struct dwarf_range *ranges = realloc(dwarf->ranges, cap * sizeof(*ranges));

		if (!ranges)
			return -ENOMEM;
		dwarf->ranges = ranges;
		dwarf->range_cap = cap;
	}
	dwarf->ranges[dwarf->range_cnt++] = (struct dwarf_range){ low, high, adding->unit };
	return 0;
}

static int add_unit(struct dwarf *dwarf, uint64_t off)
{
	if (dwarf->unit_cnt >= UNITS_MAX)
		return -E2BIG;
	if (dwarf->unit_cnt == dwarf->unit_cap) {
		size_t cap = dwarf->unit_cap ? 2 * dwarf->unit_cap : 64;
		uint64_t *units = realloc(dwarf->units, cap * sizeof(*units));

		if (!units)
			return -ENOMEM;
		dwarf->units = units;
		dwarf->unit_cap = cap;
	}
	dwarf->units[dwarf->unit_cnt++] = off;
	return 0;
}

static int by_low(const void *va, const void *vb)
{
	const struct dwarf_range *a = va, *b = vb;

	return (a->low > b->low) - (a->low < b->low);
}

/* A unit that cannot be read has no code; only one whose end is unknown ends it all. */
static int index_unit(struct dwarf *dwarf, struct unit *unit, uint64_t off)
{
	int res = unit__read_header(dwarf, off, unit);
	struct adding adding = { dwarf, off };
	struct die root;

	if (res == -ENOTSUP)
		return 0;
	if (!res)
		res = add_unit(dwarf, off);
	if (res)
		return res;
	if (unit->type != DW_UT_compile && unit->type != DW_UT_skeleton)
		return 0;
	if (unit__read_root(dwarf, unit, &root) ||
	    (root.tag != DW_TAG_compile_unit && root.tag != DW_TAG_skeleton_unit))
		return 0;
	res = die__each_range(dwarf, unit, &root, add_range, &adding);
	return res < 0 ? res : 0;
}

void index__build(struct dwarf *dwarf)
{
	struct unit *unit;
	uint64_t off = 0;

	if (dwarf->indexed)
		return;
	dwarf->indexed = true;
	dwarf->budget = DWARF_BUDGET;
	unit = calloc(1, sizeof(*unit));
	while (unit && !index_unit(dwarf, unit, off))
		off = unit->end;
	dwarf->index_cut = !dwarf->budget;
	free(unit);
	if (dwarf->range_cnt)
		qsort(dwarf->ranges, dwarf->range_cnt, sizeof(*dwarf->ranges), by_low);
}

bool index__find(const struct dwarf *dwarf, uint64_t vaddr, uint64_t *ret)
{
	size_t low = 0, high = dwarf->range_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (dwarf->ranges[mid].low <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (unsigned i = 0; low && i < OVERLAPPED_MAX; i++, low--) {
		const struct dwarf_range *range = &dwarf->ranges[low - 1];

		if (vaddr < range->high) {
			*ret = range->unit;
			return true;
		}
	}
	return false;
}
