/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forms of attribute values, tables of abbreviations, and what a value stands for. */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf/dwarf_parts.h"

enum shape {
	SHAPE_UNKNOWN,
	SHAPE_FIXED, /* `size` bytes */
	SHAPE_ADDRESS,
	SHAPE_OFFSET, /* of the unit's offset size */
	SHAPE_ULEB,
	SHAPE_SLEB,
	SHAPE_STRING,
	SHAPE_BLOCK, /* preceded by its length, in `size` bytes */
	SHAPE_BLOCK_ULEB,
	SHAPE_FLAG, /* present means set */
	SHAPE_IMPLICIT,
	SHAPE_REF_ADDR,
};

static const struct {
	uint8_t shape, size;
} forms[] = {
	[DW_FORM_addr] = { SHAPE_ADDRESS },
	[DW_FORM_block2] = { SHAPE_BLOCK, 2 },
	[DW_FORM_block4] = { SHAPE_BLOCK, 4 },
	[DW_FORM_data2] = { SHAPE_FIXED, 2 },
	[DW_FORM_data4] = { SHAPE_FIXED, 4 },
	[DW_FORM_data8] = { SHAPE_FIXED, 8 },
	[DW_FORM_string] = { SHAPE_STRING },
	[DW_FORM_block] = { SHAPE_BLOCK_ULEB },
	[DW_FORM_block1] = { SHAPE_BLOCK, 1 },
	[DW_FORM_data1] = { SHAPE_FIXED, 1 },
	[DW_FORM_flag] = { SHAPE_FIXED, 1 },
	[DW_FORM_sdata] = { SHAPE_SLEB },
	[DW_FORM_strp] = { SHAPE_OFFSET },
	[DW_FORM_udata] = { SHAPE_ULEB },
	[DW_FORM_ref_addr] = { SHAPE_REF_ADDR },
	[DW_FORM_ref1] = { SHAPE_FIXED, 1 },
	[DW_FORM_ref2] = { SHAPE_FIXED, 2 },
	[DW_FORM_ref4] = { SHAPE_FIXED, 4 },
	[DW_FORM_ref8] = { SHAPE_FIXED, 8 },
	[DW_FORM_ref_udata] = { SHAPE_ULEB },
	[DW_FORM_sec_offset] = { SHAPE_OFFSET },
	[DW_FORM_exprloc] = { SHAPE_BLOCK_ULEB },
	[DW_FORM_flag_present] = { SHAPE_FLAG },
	[DW_FORM_strx] = { SHAPE_ULEB },
	[DW_FORM_addrx] = { SHAPE_ULEB },
	[DW_FORM_ref_sup4] = { SHAPE_FIXED, 4 },
	[DW_FORM_strp_sup] = { SHAPE_OFFSET },
	[DW_FORM_data16] = { SHAPE_FIXED, 16 },
	[DW_FORM_line_strp] = { SHAPE_OFFSET },
	[DW_FORM_ref_sig8] = { SHAPE_FIXED, 8 },
	[DW_FORM_implicit_const] = { SHAPE_IMPLICIT },
	[DW_FORM_loclistx] = { SHAPE_ULEB },
	[DW_FORM_rnglistx] = { SHAPE_ULEB },
	[DW_FORM_ref_sup8] = { SHAPE_FIXED, 8 },
	[DW_FORM_strx1] = { SHAPE_FIXED, 1 },
	[DW_FORM_strx2] = { SHAPE_FIXED, 2 },
	[DW_FORM_strx3] = { SHAPE_FIXED, 3 },
	[DW_FORM_strx4] = { SHAPE_FIXED, 4 },
	[DW_FORM_addrx1] = { SHAPE_FIXED, 1 },
	[DW_FORM_addrx2] = { SHAPE_FIXED, 2 },
	[DW_FORM_addrx3] = { SHAPE_FIXED, 3 },
	[DW_FORM_addrx4] = { SHAPE_FIXED, 4 },
};

static uint8_t shape_of(uint16_t form, uint8_t *size)
{
	*size = 0;
	if (form < sizeof(forms) / sizeof(*forms)) {
		*size = forms[form].size;
		return forms[form].shape;
	}
	if (form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index)
		return SHAPE_ULEB;
	if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt)
		return SHAPE_OFFSET;
	return SHAPE_UNKNOWN;
}

static void read_block(struct cursor *cur, uint64_t len, struct value *ret)
{
	ret->bytes = cursor__skip(cur, len);
	ret->len = cur->bad ? 0 : len;
}

static void read_fixed(struct cursor *cur, unsigned size, struct value *ret)
{
	if (size > 8)
		read_block(cur, size, ret);
	else
		ret->num = cursor__fixed(cur, size);
}

static void read_string(struct cursor *cur, struct value *ret)
{
	ret->bytes = (const unsigned char *)cursor__str(cur);
	ret->len = cur->bad ? 0 : cur->at - ret->bytes - 1;
}

static void read_shape(struct cursor *cur, const struct unit *unit, uint8_t shape, unsigned size,
		       struct value *ret)
{
	switch (shape) {
	case SHAPE_FIXED:
		read_fixed(cur, size, ret);
		break;
	case SHAPE_ADDRESS:
		ret->num = cursor__fixed(cur, unit->addr_sz);
		break;
	case SHAPE_OFFSET:
		ret->num = cursor__fixed(cur, unit->off_sz);
		break;
	case SHAPE_REF_ADDR: /* an address in DWARF 2 */
		ret->num = cursor__fixed(cur, unit->version < 3 ? unit->addr_sz : unit->off_sz);
		break;
	case SHAPE_ULEB:
		ret->num = cursor__uleb(cur);
		break;
	case SHAPE_SLEB:
		ret->num = cursor__sleb(cur);
		break;
	case SHAPE_STRING:
		read_string(cur, ret);
		break;
	case SHAPE_BLOCK:
		read_block(cur, cursor__fixed(cur, size), ret);
		break;
	case SHAPE_BLOCK_ULEB:
		read_block(cur, cursor__uleb(cur), ret);
		break;
	case SHAPE_FLAG:
		ret->num = 1;
		break;
	default:
		cur->bad = true;
		cur->at = cur->end;
	}
}

void form__read(struct cursor *cur, const struct unit *unit, uint16_t form, int64_t implicit,
		struct value *ret)
{
	uint8_t shape, size;

	if (form == DW_FORM_indirect)
		form = cursor__uleb(cur); /* a second DW_FORM_indirect is an unknown form */
	shape = shape_of(form, &size);
	*ret = (struct value){ .form = form };
	if (shape == SHAPE_IMPLICIT)
		ret->num = implicit;
	else
		read_shape(cur, unit, shape, size, ret);
}

/* --- Tables of abbreviations: attributes and forms of each kind of entry */

#define ABBREVS_MAX (1u << 16) /* of a table */
#define ATTRS_MAX   (1u << 20)
void abbrevs__free(struct abbrevs *abbrevs)
{
	free(abbrevs->all);
	free(abbrevs->attrs);
	memset(abbrevs, 0, sizeof(*abbrevs));
}

static int by_code(const void *va, const void *vb)
{
	const struct abbrev *a = va, *b = vb;

	return (a->code > b->code) - (a->code < b->code);
}

static void *more(void *array, size_t *cap, size_t size)
{
	size_t cnt = *cap ? 2 * *cap : 64;
	void *ret = realloc(array, cnt * size);

	if (ret)
		*cap = cnt;
	return ret;
}

static int add_attr(struct abbrevs *abbrevs, const struct abbrev_attr *attr)
{
	if (abbrevs->attr_cnt >= ATTRS_MAX)
		return -E2BIG;
	if (abbrevs->attr_cnt == abbrevs->attr_cap) {
		struct abbrev_attr *attrs =
			more(abbrevs->attrs, &abbrevs->attr_cap, sizeof(*attrs));

		if (!attrs)
			return -ENOMEM;
		abbrevs->attrs = attrs;
	}
	abbrevs->attrs[abbrevs->attr_cnt++] = *attr;
	return 0;
}

static int add_abbrev(struct abbrevs *abbrevs, const struct abbrev *abbrev)
{
	if (abbrevs->cnt >= ABBREVS_MAX)
		return -E2BIG;
	if (abbrevs->cnt == abbrevs->cap) {
		struct abbrev *all = more(abbrevs->all, &abbrevs->cap, sizeof(*all));

		if (!all)
			return -ENOMEM;
		abbrevs->all = all;
	}
	abbrevs->all[abbrevs->cnt++] = *abbrev;
	return 0;
}

static int read_attrs(struct dwarf *dwarf, struct cursor *cur, struct abbrevs *abbrevs, bool wanted)
{
	while (dwarf__spend(dwarf, 1)) {
		uint64_t name = cursor__uleb(cur), form = cursor__uleb(cur);
		struct abbrev_attr attr = { .name = name, .form = form };
		int res;

		if (form == DW_FORM_implicit_const)
			attr.implicit = cursor__sleb(cur);
		if (cur->bad || name > UINT16_MAX || form > UINT16_MAX)
			return -EINVAL;
		if (!name && !form)
			return 0;
		res = wanted ? add_attr(abbrevs, &attr) : 0;
		if (res)
			return res;
	}
	return -E2BIG;
}

/* Returns 1 at the end of the table, or when the wanted code was found. */
static int read_one(struct dwarf *dwarf, struct cursor *cur, struct abbrevs *abbrevs, uint64_t only)
{
	struct abbrev abbrev = { .code = cursor__uleb(cur), .attr_first = abbrevs->attr_cnt };
	bool wanted = !only || abbrev.code == only;
	uint64_t tag;
	int res;

	if (cur->bad)
		return -EINVAL;
	if (!abbrev.code)
		return 1;
	tag = cursor__uleb(cur);
	abbrev.tag = tag <= UINT16_MAX ? tag : UINT16_MAX;
	abbrev.children = cursor__fixed(cur, 1);
	res = read_attrs(dwarf, cur, abbrevs, wanted);
	if (res || !wanted)
		return res;
	abbrev.attr_cnt = abbrevs->attr_cnt - abbrev.attr_first;
	res = add_abbrev(abbrevs, &abbrev);
	return res ? res : only > 0;
}

int abbrevs__read(struct dwarf *dwarf, uint64_t off, uint64_t only, struct abbrevs *ret)
{
	const unsigned char *mem = section__whole(dwarf, DWARF_ABBREV);
	uint64_t size = dwarf->parts[DWARF_ABBREV].size;
	struct cursor cur;
	int res = 0;

	memset(ret, 0, sizeof(*ret));
	if (!mem || off >= size)
		return -EINVAL;
	cur = (struct cursor){ mem + off, mem + size, false };
	while (!res)
		res = read_one(dwarf, &cur, ret, only);
	if (res < 0) {
		abbrevs__free(ret);
		return res;
	}
	if (ret->cnt)
		qsort(ret->all, ret->cnt, sizeof(*ret->all), by_code);
	return 0;
}

/* Codes are usually consecutive from 1. */
const struct abbrev *abbrevs__find(const struct abbrevs *abbrevs, uint64_t code)
{
	struct abbrev key = { .code = code };

	if (code && code <= abbrevs->cnt && abbrevs->all[code - 1].code == code)
		return &abbrevs->all[code - 1];
	if (!abbrevs->cnt)
		return NULL;
	return bsearch(&key, abbrevs->all, abbrevs->cnt, sizeof(key), by_code);
}

/* --- values resolved to addresses and strings */

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
