/* SPDX-License-Identifier: GPL-2.0 */
/* The forms that values of attributes come in. */
#include <dwarf.h>

#include "symbol/dwarf/dwarf_parts.h"

enum shape {
	SHAPE_UNKNOWN,
	SHAPE_FIXED, /* `size` bytes */
	SHAPE_ADDRESS,
	SHAPE_OFFSET, /* of the unit's size of offsets */
	SHAPE_ULEB,
	SHAPE_SLEB,
	SHAPE_STRING,
	SHAPE_BLOCK, /* its length before it, in `size` bytes */
	SHAPE_BLOCK_ULEB,
	SHAPE_FLAG, /* there, so set */
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
	case SHAPE_REF_ADDR: /* DWARF 2 had it as an address */
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
		form = cursor__uleb(cur); /* of another one that is indirect nothing is known */
	shape = shape_of(form, &size);
	*ret = (struct value){ .form = form };
	if (shape == SHAPE_IMPLICIT)
		ret->num = implicit;
	else
		read_shape(cur, unit, shape, size, ret);
}
