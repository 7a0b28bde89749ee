/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves attribute values to addresses, strings and function names. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "symbol/dwarf/dwarf_parts.h"

#define REFERENCES_MAX 8 /* references from an entry to the one with its name */

static bool is_address_index(uint16_t form)
{
	return form == DW_FORM_addrx || (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4) ||
	       form == DW_FORM_GNU_addr_index;
}

static bool is_string_index(uint16_t form)
{
	return form == DW_FORM_strx || (form >= DW_FORM_strx1 && form <= DW_FORM_strx4) ||
	       form == DW_FORM_GNU_str_index;
}

/* Reads a number from a table of numbers. */
static bool read_entry(struct dwarf *dwarf, enum dwarf_section nr, uint64_t base, uint64_t index,
		       unsigned size, uint64_t *ret)
{
	unsigned char buf[8];
	struct cursor cur = { buf, buf + size, false };

	if (index > UINT32_MAX || base > INT64_MAX ||
	    section__read(dwarf, nr, base + index * size, buf, size))
		return false;
	*ret = cursor__fixed(&cur, size);
	return true;
}

bool value__address(struct dwarf *dwarf, const struct unit *unit, const struct value *value,
		    uint64_t *ret)
{
	if (value->form == DW_FORM_addr) {
		*ret = value->num;
		return true;
	}
	if (!is_address_index(value->form))
		return false;
	return read_entry(dwarf, DWARF_ADDR, unit->addr_base, value->num, unit->addr_sz, ret);
}

static size_t string_by_index(struct dwarf *dwarf, const struct unit *unit, uint64_t index,
			      char *buf, size_t cap)
{
	uint64_t off;

	if (!read_entry(dwarf, DWARF_STR_OFFSETS, unit->str_offsets_base, index, unit->off_sz,
			&off))
		return 0;
	return section__string(dwarf, DWARF_STR, off, buf, cap);
}

size_t value__string(struct dwarf *dwarf, const struct unit *unit, const struct value *value,
		     char *buf, size_t cap)
{
	buf[0] = 0;
	if (value->form == DW_FORM_string) {
		snprintf(buf, cap, "%.*s", (int)(value->len < cap ? value->len : cap - 1),
			 (const char *)value->bytes);
		return strlen(buf);
	}
	if (value->form == DW_FORM_strp)
		return section__string(dwarf, DWARF_STR, value->num, buf, cap);
	if (value->form == DW_FORM_line_strp)
		return section__string(dwarf, DWARF_LINE_STR, value->num, buf, cap);
	if (is_string_index(value->form))
		return string_by_index(dwarf, unit, value->num, buf, cap);
	if (dwarf->alt && (value->form == DW_FORM_GNU_strp_alt || value->form == DW_FORM_strp_sup))
		return section__string(dwarf->alt, DWARF_STR, value->num, buf, cap);
	return 0;
}

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
