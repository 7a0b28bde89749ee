/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a loop file says is to be read at a mark, e.g. "enum(qevent, u16 *(arg1 + 8))", made into
 * what the probe reads and how that is shown. The grammar, '*' being a read of what lies at an
 * address:
 *
 *   view   = number | symbol(value) | class(value) | text(address) | text16(address) | enum(NAME, number) | clock_ms(number)
 *   number = [u8|u16|u32|u64|s8|s16|s32|s64] value
 *   value  = argN | *address
 *   address = value [+|- OFFSET]…, with brackets where needed
 */
#ifndef JANK_CATALOGUE_MARK_EXPR_H
#define JANK_CATALOGUE_MARK_EXPR_H

#include "catalogue/catalogue.h"

/* The lists of names that enum() may take. */
struct mark_enums {
	struct catalogue_enum *const *items;
	size_t cnt;
};

/*
 * One view. spec and field are set but for field->role. 0, or -EINVAL with a message that quotes
 * the place.
 */
int mark_expr__view(const char *text, const struct mark_enums *enums, struct jank_mark_field *spec,
		    struct catalogue_field *field, struct err *err);

/* "number == number": two fields, views numbers. */
int mark_expr__check(const char *text, struct jank_mark_field spec[2],
		     struct catalogue_field field[2], struct err *err);

#endif
