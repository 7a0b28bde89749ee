/* SPDX-License-Identifier: GPL-2.0 */
/* What the numbers mean that a mark's probe has read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/catalogue.h"

int64_t catalogue_field__number(const struct catalogue_field *field, uint64_t raw)
{
	unsigned unused = 64 - field->bits;

	raw <<= unused;
	return field->is_signed ? (int64_t)raw >> unused : (int64_t)(raw >> unused);
}

static int compare(const void *key, const void *item)
{
	int64_t value = *(const int64_t *)key;
	const struct catalogue_name *name = item;

	return (value > name->value) - (value < name->value);
}

const char *catalogue_field__enum_name(const struct catalogue_field *field, uint64_t raw)
{
	const struct catalogue_enum *names = field->names;
	int64_t value = catalogue_field__number(field, raw);
	const struct catalogue_name *found;

	if (!names)
		return NULL;
	found = bsearch(&value, names->names, names->cnt, sizeof(*names->names), compare);
	return found ? found->name : NULL;
}

/* One character; returns its bytes. */
static size_t put_utf8(uint32_t c, char *ret)
{
	size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t heads[] = { 0, 0xc0, 0xe0, 0xf0 };

	ret[0] = (char)(heads[more] | c >> (6 * more));
	for (size_t i = 1; i <= more; i++)
		ret[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
	return more + 1;
}

static uint32_t unit_at(const char *raw, size_t i)
{
	uint16_t unit = 0;

	if (2 * i + 1 < JANK_MESSAGE_TEXT_SZ)
		memcpy(&unit, raw + 2 * i, sizeof(unit));
	return unit;
}

static bool is_low(uint32_t unit)
{
	return (unit & 0xfc00) == 0xdc00;
}

/* A surrogate without its other half becomes U+FFFD; one that is cut off is left out. */
static void utf16_to_utf8(const char *raw, char *ret)
{
	uint32_t c;

	for (size_t i = 0; (c = unit_at(raw, i)) != 0; i++) {
		if ((c & 0xfc00) == 0xd800 && !unit_at(raw, i + 1))
			break;
		if ((c & 0xfc00) == 0xd800 && is_low(unit_at(raw, i + 1)))
			c = 0x10000 + ((c & 0x3ff) << 10) + (unit_at(raw, ++i) & 0x3ff);
		else if ((c & 0xf800) == 0xd800)
			c = 0xfffd;
		ret += put_utf8(c, ret);
	}
	*ret = 0;
}

void catalogue_field__text(const struct catalogue_field *field,
			   const char raw[JANK_MESSAGE_TEXT_SZ], char ret[CATALOGUE_TEXT_SZ])
{
	if (field->bits == 16)
		utf16_to_utf8(raw, ret);
	else
		snprintf(ret, CATALOGUE_TEXT_SZ, "%.*s", JANK_MESSAGE_TEXT_SZ, raw);
}

bool catalogue_mark__holds(const struct catalogue_mark *mark, uint32_t got, const uint64_t *value)
{
	int64_t first = 0;
	bool is_second = false;

	for (unsigned i = 0; i < mark->spec.field_cnt; i++) {
		const struct catalogue_field *field = &mark->fields[i];
		int64_t number = catalogue_field__number(field, value[i]);

		if (field->role != ROLE_CHECK)
			continue;
		if (!(got & 1u << i) || (is_second && number != first))
			return false;
		first = number;
		is_second = true;
	}
	return true;
}
