/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units of .debug_info: their headers and their entries. A few units stay in memory. */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/dwarf_parts.h"

#define UNIT_MAX   (256ull << 20) /* bytes */
#define HEADER_MAX 40
#define ROOT_MAX   4096 /* bytes of a unit's first entry */

static int read_length(struct cursor *cur, struct unit *ret)
{
	uint64_t len = cursor__fixed(cur, 4);

	ret->off_sz = 4;
	if (len == 0xffffffff) {
		ret->off_sz = 8;
		len = cursor__fixed(cur, 8);
	}
	if (cur->bad || !len || len > UNIT_MAX)
		return -EINVAL;
	ret->end = ret->off + (ret->off_sz == 8 ? 12 : 4) + len;
	return 0;
}

static void read_version(struct cursor *cur, struct unit *ret)
{
	ret->version = cursor__fixed(cur, 2);
	ret->type = DW_UT_compile;
	if (ret->version < 5) {
		ret->abbrev_off = cursor__fixed(cur, ret->off_sz);
		ret->addr_sz = cursor__fixed(cur, 1);
		return;
	}
	ret->type = cursor__fixed(cur, 1);
	ret->addr_sz = cursor__fixed(cur, 1);
	ret->abbrev_off = cursor__fixed(cur, ret->off_sz);
	if (ret->type == DW_UT_skeleton || ret->type == DW_UT_split_compile)
		cursor__skip(cur, 8);
	else if (ret->type == DW_UT_type || ret->type == DW_UT_split_type)
		cursor__skip(cur, 8 + ret->off_sz);
}

int unit__read_header(struct dwarf *dwarf, uint64_t off, struct unit *ret)
{
	uint64_t size = dwarf->parts[DWARF_INFO].size, left = off < size ? size - off : 0;
	unsigned char head[HEADER_MAX];
	size_t len = left < sizeof(head) ? left : sizeof(head);
	struct cursor cur = { head, head + len, false };

	memset(ret, 0, offsetof(struct unit, comp_dir));
	ret->comp_dir[0] = 0;
	ret->off = off;
	if (!len || section__read(dwarf, DWARF_INFO, off, head, len) || read_length(&cur, ret) ||
	    ret->end > size)
		return -EINVAL;
	read_version(&cur, ret);
	ret->first = off + (cur.at - head);
	/* a unit of an unknown version can be skipped */
	if (ret->version < 2 || ret->version > 5)
		return -ENOTSUP;
	if (cur.bad || ret->first >= ret->end || (ret->addr_sz != 4 && ret->addr_sz != 8))
		return -ENOTSUP;
	return 0;
}

static struct value *slot_of(struct die *die, uint16_t name)
{
	switch (name) {
	case DW_AT_low_pc:
		return &die->low;
	case DW_AT_high_pc:
		return &die->high;
	case DW_AT_ranges:
		return &die->ranges;
	case DW_AT_name:
		return &die->name;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return &die->linkage;
	case DW_AT_abstract_origin:
		return &die->origin;
	case DW_AT_specification:
		return &die->specification;
	case DW_AT_call_file:
		return &die->call_file;
	case DW_AT_call_line:
		return &die->call_line;
	case DW_AT_sibling:
		return &die->sibling;
	case DW_AT_stmt_list:
		return &die->stmt_list;
	case DW_AT_comp_dir:
		return &die->comp_dir;
	case DW_AT_str_offsets_base:
		return &die->str_offsets_base;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return &die->addr_base;
	case DW_AT_rnglists_base:
		return &die->rnglists_base;
	default:
		return NULL;
	}
}

static int read_die(struct cursor *cur, const struct unit *unit, struct die *ret)
{
	const struct abbrev *abbrev;
	uint64_t code = cursor__uleb(cur);
	struct value other;

	if (cur->bad)
		return -EINVAL;
	if (!code)
		return 0;
	abbrev = abbrevs__find(&unit->abbrevs, code);
	if (!abbrev)
		return -EINVAL;
	ret->tag = abbrev->tag;
	ret->children = abbrev->children;
	for (uint32_t i = 0; i < abbrev->attr_cnt; i++) {
		const struct abbrev_attr *attr = &unit->abbrevs.attrs[abbrev->attr_first + i];
		struct value *value = slot_of(ret, attr->name);

		form__read(cur, unit, attr->form, attr->implicit, value ? value : &other);
	}
	return cur->bad ? -EINVAL : 0;
}

int unit__die(const struct unit *unit, uint64_t off, struct die *ret)
{
	struct cursor cur;
	int res;

	memset(ret, 0, sizeof(*ret));
	if (off < unit->first || off >= unit->end)
		return -EINVAL;
	cur = (struct cursor){ unit->bytes + (off - unit->off),
			       unit->bytes + (unit->end - unit->off), false };
	ret->off = off;
	res = read_die(&cur, unit, ret);
	ret->next = unit->off + (cur.at - unit->bytes);
	return res;
}

static void take_root(struct dwarf *dwarf, struct unit *unit, const struct die *root)
{
	unsigned head = unit->off_sz == 8 ? 16 : 8; /* header of .debug_str_offsets */

	unit->str_offsets_base = root->str_offsets_base.form ? root->str_offsets_base.num
				 : unit->version < 5	     ? 0
							     : head;
	unit->addr_base = root->addr_base.num;
	unit->rnglists_base = root->rnglists_base.num;
	unit->has_stmt_list = root->stmt_list.form;
	unit->stmt_list = root->stmt_list.num;
	if (!value__address(dwarf, unit, &root->low, &unit->low_pc))
		unit->low_pc = 0;
}

/* Reads only the begin of the unit, and only one abbreviation. */
int unit__read_root(struct dwarf *dwarf, struct unit *unit, struct die *ret)
{
	unsigned char buf[ROOT_MAX];
	uint64_t left = unit->end - unit->first;
	size_t len = left < sizeof(buf) ? left : sizeof(buf);
	struct cursor cur = { buf, buf + len, false };
	int res = section__read(dwarf, DWARF_INFO, unit->first, buf, len);

	memset(ret, 0, sizeof(*ret));
	if (!res)
		res = abbrevs__read(dwarf, unit->abbrev_off, cursor__uleb(&cur), &unit->abbrevs);
	if (res)
		return res;
	cur.at = buf;
	res = read_die(&cur, unit, ret);
	abbrevs__free(&unit->abbrevs);
	if (!res)
		take_root(dwarf, unit, ret);
	return res;
}

void unit__unload(struct unit *unit)
{
	free(unit->own);
	abbrevs__free(&unit->abbrevs);
	memset(unit, 0, offsetof(struct unit, comp_dir));
}

static int read_bytes(struct dwarf *dwarf, struct unit *unit)
{
	struct dwarf_part *part = &dwarf->parts[DWARF_INFO];
	uint64_t len = unit->end - unit->off;

	if (part->packed && !section__whole(dwarf, DWARF_INFO))
		return -ENODATA;
	if (part->mem) {
		unit->bytes = part->mem + unit->off;
		return 0;
	}
	if (!dwarf__has_room(dwarf, len))
		return -EFBIG;
	unit->own = malloc(len);
	if (!unit->own)
		return -ENOMEM;
	unit->bytes = unit->own;
	return section__read(dwarf, DWARF_INFO, unit->off, unit->own, len);
}

static int load(struct dwarf *dwarf, uint64_t off, struct unit *unit)
{
	struct die root;
	int res;

	unit__unload(unit);
	res = unit__read_header(dwarf, off, unit);
	if (!res)
		res = read_bytes(dwarf, unit);
	if (!res)
		res = abbrevs__read(dwarf, unit->abbrev_off, 0, &unit->abbrevs);
	if (!res)
		res = unit__die(unit, unit->first, &root);
	if (res) {
		unit__unload(unit);
		return res;
	}
	take_root(dwarf, unit, &root);
	value__string(dwarf, unit, &root.comp_dir, unit->comp_dir, sizeof(unit->comp_dir));
	return 0;
}

/* Gets the last unit that begins at or before off. */
static bool begin_of(const struct dwarf *dwarf, uint64_t off, uint64_t *ret)
{
	size_t low = 0, high = dwarf->unit_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (dwarf->units[mid] <= off)
			low = mid + 1;
		else
			high = mid;
	}
	if (low)
		*ret = dwarf->units[low - 1];
	return low;
}

struct unit *unit__at(struct dwarf *dwarf, uint64_t off, const struct unit *keep)
{
	struct unit *unit = NULL;
	uint64_t begin;

	for (unsigned i = 0; i < UNIT_CACHE; i++)
		if (dwarf->cache[i].off <= off && off < dwarf->cache[i].end)
			return &dwarf->cache[i];
	if (!begin_of(dwarf, off, &begin))
		return NULL;
	do
		unit = &dwarf->cache[dwarf->turn++ % UNIT_CACHE];
	while (unit == keep);
	if (load(dwarf, begin, unit) || off >= unit->end)
		return NULL;
	return unit;
}

/* --- names of entries */

#define REFERENCES_MAX 8 /* references from an entry to the one with its name */

/*
 * Resolves a reference to another entry: returns its file, *ret gets its offset. NULL: unknown
 * reference.
 */
static struct dwarf *refers_to(struct dwarf *dwarf, const struct unit *unit,
			       const struct value *value, uint64_t *ret)
{
	*ret = value->num;
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		*ret += unit->off;
		return dwarf;
	case DW_FORM_ref_addr:
		return dwarf;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return dwarf->alt;
	default:
		return NULL;
	}
}

static const struct value *reference_of(const struct die *die)
{
	return die->origin.form ? &die->origin : &die->specification;
}

/* Follows all references, because the linkage name may be further along than the source name. */
size_t die__name(struct dwarf *dwarf, const struct unit *unit, const struct die *die, char *buf,
		 size_t cap)
{
	const struct unit *const first = unit;
	struct dwarf *const own = dwarf;
	struct die at = *die;
	char name[DWARF_NAME_MAX] = "";
	uint64_t off;

	for (unsigned i = 0; i < REFERENCES_MAX; i++) {
		size_t len = value__string(dwarf, unit, &at.linkage, buf, cap);

		if (len)
			return len;
		if (!name[0])
			value__string(dwarf, unit, &at.name, name, sizeof(name));
		dwarf = refers_to(dwarf, unit, reference_of(&at), &off);
		unit = dwarf ? unit__at(dwarf, off, dwarf == own ? first : NULL) : NULL;
		if (!unit || unit__die(unit, off, &at))
			break;
	}
	snprintf(buf, cap, "%s", name);
	return strlen(buf);
}
