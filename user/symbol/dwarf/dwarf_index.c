/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Index of units by address. libdw's needs .debug_aranges, which not every compiler writes. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/must.h"
#include "symbol/dwarf/dwarf_parts.h"

#define INDEX_NS       NS_PER_SEC /* CPU time; the 4,126 units of libc take some 10 ms */
#define UNITS_MAX      (1u << 20)
#define RANGES_MAX     (2u << 20)
#define OVERLAPPED_MAX 16 /* visited ranges that begin before an address */

/* --- the bound of an operation's CPU time: of the index, or of a look-up */

#define CHECK_STEPS 16 /* the clock is read once for so many steps */

void dwarf__begin(struct dwarf *dwarf, uint64_t max_ns)
{
	dwarf->max_ns = max_ns;
	dwarf->begin_ns = clock__mono_ns();
	dwarf->begin_cpu_ns = clock__thread_ns();
	dwarf->steps = 0;
	dwarf->cut = false;
}

/* The clock of CPU time is a system call. */
uint64_t dwarf__elapsed_ns(const struct dwarf *dwarf)
{
	uint64_t ret = clock__mono_ns() - dwarf->begin_ns;

	return ret > dwarf->max_ns ? clock__thread_ns() - dwarf->begin_cpu_ns : ret;
}

bool dwarf__step(struct dwarf *dwarf)
{
	if (!dwarf->cut && ++dwarf->steps % CHECK_STEPS == 0)
		dwarf->cut = dwarf__elapsed_ns(dwarf) > dwarf->max_ns;
	return !dwarf->cut;
}

/* --- the index */

static bool add_range(struct dwarf *dwarf, const struct dwarf_range *range)
{
	if (dwarf->range_cnt >= RANGES_MAX || !dwarf__step(dwarf))
		return false;
	dwarf->ranges = must__grow(dwarf->ranges, dwarf->range_cnt, &dwarf->range_cap,
				   sizeof(*dwarf->ranges));
	dwarf->ranges[dwarf->range_cnt++] = *range;
	return true;
}

static bool add_unit(struct dwarf *dwarf, Dwarf_Die *root)
{
	struct dwarf_range range = { .unit = dwarf->unit_cnt };
	Dwarf_Addr base;
	ptrdiff_t at = 0;

	if (dwarf_tag(root) != DW_TAG_compile_unit && dwarf_tag(root) != DW_TAG_skeleton_unit)
		return true;
	dwarf->units =
		must__grow(dwarf->units, dwarf->unit_cnt, &dwarf->unit_cap, sizeof(*dwarf->units));
	dwarf->units[dwarf->unit_cnt++] = (struct dwarf_unit){ .root = dwarf_dieoffset(root) };
	while ((at = dwarf_ranges(root, at, &base, &range.low, &range.high)) > 0)
		if (!add_range(dwarf, &range))
			return false;
	return true;
}

static int by_low(const void *va, const void *vb)
{
	const struct dwarf_range *a = va, *b = vb;

	return (a->low > b->low) - (a->low < b->low);
}

void dwarf_index__build(struct dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die root;

	dwarf->indexed = true;
	dwarf__begin(dwarf, INDEX_NS);
	for (unsigned i = 0; i < UNITS_MAX && dwarf__step(dwarf); i++)
		if (dwarf_get_units(dwarf->file.dwarf, unit, &unit, NULL, NULL, &root, NULL) ||
		    !add_unit(dwarf, &root))
			break;
	dwarf->index_cut = dwarf->cut;
	if (dwarf->range_cnt)
		qsort(dwarf->ranges, dwarf->range_cnt, sizeof(*dwarf->ranges), by_low);
}

void dwarf_index__free(struct dwarf *dwarf)
{
	free(dwarf->ranges);
	free(dwarf->units);
	dwarf->ranges = NULL;
	dwarf->units = NULL;
	dwarf->range_cnt = dwarf->range_cap = dwarf->unit_cnt = dwarf->unit_cap = 0;
}

struct dwarf_unit *dwarf_index__find(const struct dwarf *dwarf, uint64_t vaddr)
{
	size_t low = 0, high = dwarf->range_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (dwarf->ranges[mid].low <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	for (unsigned i = 0; low && i < OVERLAPPED_MAX; i++, low--)
		if (vaddr < dwarf->ranges[low - 1].high)
			return &dwarf->units[dwarf->ranges[low - 1].unit];
	return NULL;
}

size_t dwarf_index__bytes(const struct dwarf *dwarf)
{
	return dwarf->range_cap * sizeof(*dwarf->ranges) + dwarf->unit_cap * sizeof(*dwarf->units);
}
