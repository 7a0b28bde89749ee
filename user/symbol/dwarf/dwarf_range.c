/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address ranges of an entry: one range, or a list. */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/dwarf/dwarf_parts.h"

static uint64_t address_max(const struct unit *unit)
{
	return unit->addr_sz == 4 ? UINT32_MAX : UINT64_MAX;
}

/* Ignores ranges of code that the linker dropped: they begin at 0, or at the last addresses. */
typedef int (*range_fn)(uint64_t low, uint64_t high, void *ctx);

static int give(const struct unit *unit, uint64_t low, uint64_t high, range_fn fn, void *ctx)
{
	if (!low || low >= high || high >= address_max(unit) - 1)
		return 0;
	return fn(low, high, ctx);
}

/* DWARF 2 to 4: pairs of addresses. A pair that begins with the largest address sets a new base. */
static int each_pair(struct dwarf *dwarf, const struct unit *unit, uint64_t off, range_fn fn,
		     void *ctx)
{
	const unsigned char *mem = section__whole(dwarf, DWARF_RANGES);
	uint64_t size = dwarf->parts[DWARF_RANGES].size, base = unit->low_pc;
	struct cursor cur;
	int res = 0;

	if (!mem || off >= size)
		return 0;
	cur = (struct cursor){ mem + off, mem + size, false };
	while (!res && dwarf__spend(dwarf, 1)) {
		uint64_t low = cursor__fixed(&cur, unit->addr_sz);
		uint64_t high = cursor__fixed(&cur, unit->addr_sz);

		if (cur.bad || (!low && !high))
			break;
		if (low == address_max(unit))
			base = high;
		else
			res = give(unit, base + low, base + high, fn, ctx);
	}
	return res;
}

struct list {
	struct dwarf *dwarf;
	const struct unit *unit;
	struct cursor cur;
	uint64_t base, low, high;
	bool given; /* low and high hold a range */
};

static uint64_t indexed(struct list *list)
{
	struct value value = { .form = DW_FORM_addrx, .num = cursor__uleb(&list->cur) };
	uint64_t ret = 0;

	if (!value__address(list->dwarf, list->unit, &value, &ret))
		list->cur.bad = true;
	return ret;
}

/* Returns false at the end of the list. */
static bool next(struct list *list)
{
	unsigned addr_sz = list->unit->addr_sz;
	struct cursor *cur = &list->cur;
	uint64_t kind = cursor__fixed(cur, 1);

	list->given = kind != DW_RLE_base_addressx && kind != DW_RLE_base_address;
	switch (cur->bad ? DW_RLE_end_of_list : kind) {
	case DW_RLE_base_addressx:
		list->base = indexed(list);
		break;
	case DW_RLE_base_address:
		list->base = cursor__fixed(cur, addr_sz);
		break;
	case DW_RLE_startx_endx:
		list->low = indexed(list);
		list->high = indexed(list);
		break;
	case DW_RLE_startx_length:
		list->low = indexed(list);
		list->high = list->low + cursor__uleb(cur);
		break;
	case DW_RLE_offset_pair:
		list->low = list->base + cursor__uleb(cur);
		list->high = list->base + cursor__uleb(cur);
		break;
	case DW_RLE_start_end:
		list->low = cursor__fixed(cur, addr_sz);
		list->high = cursor__fixed(cur, addr_sz);
		break;
	case DW_RLE_start_length:
		list->low = cursor__fixed(cur, addr_sz);
		list->high = list->low + cursor__uleb(cur);
		break;
	default:
		return false;
	}
	return !cur->bad;
}

static int each_of_list(struct dwarf *dwarf, const struct unit *unit, uint64_t off, range_fn fn,
			void *ctx)
{
	const unsigned char *mem = section__whole(dwarf, DWARF_RNGLISTS);
	uint64_t size = dwarf->parts[DWARF_RNGLISTS].size;
	struct list list = { .dwarf = dwarf, .unit = unit, .base = unit->low_pc };
	int res = 0;

	if (!mem || off >= size)
		return 0;
	list.cur = (struct cursor){ mem + off, mem + size, false };
	while (!res && dwarf__spend(dwarf, 1) && next(&list))
		if (list.given)
			res = give(unit, list.low, list.high, fn, ctx);
	return res;
}

/* Reads the offset of the list from the table of offsets. */
static int each_by_index(struct dwarf *dwarf, const struct unit *unit, uint64_t index, range_fn fn,
			 void *ctx)
{
	uint64_t base = unit->rnglists_base;
	unsigned char buf[8];
	struct cursor cur = { buf, buf + unit->off_sz, false };

	if (index > UINT32_MAX || base > INT64_MAX ||
	    section__read(dwarf, DWARF_RNGLISTS, base + index * unit->off_sz, buf, unit->off_sz))
		return 0;
	return each_of_list(dwarf, unit, base + cursor__fixed(&cur, unit->off_sz), fn, ctx);
}

/*
 * Calls fn with each range of an entry until fn returns non-zero; returns that value.
 */
static int each_range(struct dwarf *dwarf, const struct unit *unit, const struct die *die,
		      range_fn fn, void *ctx)
{
	uint64_t low, high;

	if (die->ranges.form == DW_FORM_rnglistx)
		return each_by_index(dwarf, unit, die->ranges.num, fn, ctx);
	if (die->ranges.form && unit->version >= 5)
		return each_of_list(dwarf, unit, die->ranges.num, fn, ctx);
	if (die->ranges.form)
		return each_pair(dwarf, unit, die->ranges.num, fn, ctx);
	if (!die->high.form || !value__address(dwarf, unit, &die->low, &low))
		return 0;
	if (!value__address(dwarf, unit, &die->high, &high))
		high = low + die->high.num;
	return give(unit, low, high, fn, ctx);
}

static int holds(uint64_t low, uint64_t high, void *ctx)
{
	const uint64_t *vaddr = ctx;

	return *vaddr >= low && *vaddr < high;
}

int die__holds(struct dwarf *dwarf, const struct unit *unit, const struct die *die, uint64_t vaddr)
{
	if (!die->ranges.form && !die->high.form)
		return -1;
	return each_range(dwarf, unit, die, holds, &vaddr);
}

/*
 * --- Index of units by address. It uses each unit's first entry, because not every compiler writes
 * .debug_aranges.
 */

#define UNITS_MAX      (1u << 20)
#define RANGES_MAX     (2u << 20)
#define OVERLAPPED_MAX 16 /* limit of visited ranges that begin before an address */

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

/* A unit that cannot be read has no code. Only a unit with an unknown end stops the indexing. */
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
	res = each_range(dwarf, unit, &root, add_range, &adding);
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
