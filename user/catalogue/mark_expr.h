/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of the expressions in a loop file that say what to read at a mark, e.g. "enum(qevent, u16
 * *(arg1 + 8))". The result is the probe's read and the display form. Grammar ('*' reads the value
 * at an address):
 *
 *   view   = number | symbol(value) | class(value) | text(address) | text16(address)
 *          | enum(NAME, number) | clock_ms(number)
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
 * Parses one view. Sets spec and field except field->role. 0, or -EINVAL with a message that quotes
 * the position.
 */
int mark_expr__view(const char *text, const struct mark_enums *enums, struct jank_mark_field *spec,
		    struct catalogue_field *field, struct err *err);

/* Parses "number == number" into two fields with number views. */
int mark_expr__check(const char *text, struct jank_mark_field spec[2],
		     struct catalogue_field field[2], struct err *err);

#endif
