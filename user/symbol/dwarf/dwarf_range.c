/* SPDX-License-Identifier: GPL-2.0 */
/* Which addresses an entry has: one range, or a list of them. */
#include <dwarf.h>
#include <errno.h>

#include "symbol/dwarf/dwarf_parts.h"

static uint64_t address_max(const struct unit *unit)
{
	return unit->addr_sz == 4 ? UINT32_MAX : UINT64_MAX;
}

/* What the linker left out begins at 0, or at the last addresses. */
static int give(const struct unit *unit, uint64_t low, uint64_t high, range_fn fn, void *ctx)
{
	if (!low || low >= high || high >= address_max(unit) - 1)
		return 0;
	return fn(low, high, ctx);
}

/* DWARF 2 to 4: pairs, of which one of nothing but ones is a new base. */
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
	bool given; /* low and high are a range */
};

static uint64_t indexed(struct list *list)
{
	struct value value = { .form = DW_FORM_addrx, .num = cursor__uleb(&list->cur) };
	uint64_t ret = 0;

	if (!value__address(list->dwarf, list->unit, &value, &ret))
		list->cur.bad = true;
	return ret;
}

/* False at the list's end. */
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

/* The list's offset from a table of such. */
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

int die__each_range(struct dwarf *dwarf, const struct unit *unit, const struct die *die,
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
	return die__each_range(dwarf, unit, die, holds, &vaddr);
}
