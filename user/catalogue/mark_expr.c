/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recursive-descent parser. Reads are collected innermost first, in the order of the probe. */
#include "catalogue/catalogue_data.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "catalogue/catalogue.h"

#define OFFSET_MAX (1 << 20)
#define READ_MAX   (JANK_MARK_DEREF_MAX + 1)
#define NESTED_MAX 16
_Static_assert(JANK_MARK_ARG_MAX == 5, "in the message of parse_arg");
#define LEN(a) (sizeof(a) / sizeof(*(a)))

struct parser {
	const char *at;
	const char *wanted; /* what is expected at `at`; NULL: no error */
	const struct mark_enums *enums;
	unsigned nested;
};

/* A value: register reg, then a read at each offset, then plus `add`. */
struct value {
	unsigned reg, read_cnt;
	int32_t offset[READ_MAX];
	int32_t add;
};

struct type {
	const char *name;
	uint8_t bits;
	bool is_signed;
};

static const struct type types[] = {
	{ "u8", 8, false }, { "u16", 16, false }, { "u32", 32, false }, { "u64", 64, false },
	{ "s8", 8, true },  { "s16", 16, true },  { "s32", 32, true },	{ "s64", 64, true },
};
static const struct type pointer = { "", 64, false };

/* The first error counts. */
static bool fail(struct parser *p, const char *wanted)
{
	if (!p->wanted)
		p->wanted = wanted;
	return false;
}

static void skip_space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static bool take(struct parser *p, const char *token)
{
	size_t len = strlen(token);

	skip_space(p);
	if (strncmp(p->at, token, len))
		return false;
	p->at += len;
	return true;
}

/* Like take, for a whole word. */
static bool take_word(struct parser *p, const char *word)
{
	size_t len = strlen(word);

	skip_space(p);
	if (strncmp(p->at, word, len) || isalnum((unsigned char)p->at[len]) || p->at[len] == '_')
		return false;
	p->at += len;
	return true;
}

static bool parse_address(struct parser *p, struct value *ret);

static bool parse_arg(struct parser *p, struct value *ret)
{
	const char *wanted = "an argument (arg0 to arg4), * or (";

	if (!take(p, "arg") || *p->at < '0' || *p->at >= '0' + JANK_MARK_ARG_MAX ||
	    isalnum((unsigned char)p->at[1]))
		return fail(p, wanted);
	*ret = (struct value){ .reg = (unsigned)(*p->at++ - '0') };
	return true;
}

static bool add_read(struct parser *p, struct value *value)
{
	if (value->read_cnt == READ_MAX)
		return fail(p, "at most 4 reads (*), one inside the other");
	value->offset[value->read_cnt++] = value->add;
	value->add = 0;
	return true;
}

static bool parse_term(struct parser *p, struct value *ret)
{
	bool good;

	if (++p->nested > NESTED_MAX)
		return fail(p, "an expression with fewer levels");
	if (take(p, "*"))
		good = parse_term(p, ret) && add_read(p, ret);
	else if (take(p, "("))
		good = parse_address(p, ret) && (take(p, ")") || fail(p, ")"));
	else
		good = parse_arg(p, ret);
	p->nested--;
	return good;
}

static bool parse_offset(struct parser *p, int sign, struct value *value)
{
	unsigned long number;
	char *end;

	skip_space(p);
	if (!isdigit((unsigned char)*p->at))
		return fail(p, "an offset in bytes, 24 or 0x18");
	errno = 0;
	number = strtoul(p->at, &end, 0);
	if (errno || number > OFFSET_MAX)
		return fail(p, "an offset of at most 1048576");
	value->add += sign * (int32_t)number;
	if (value->add > OFFSET_MAX || value->add < -OFFSET_MAX)
		return fail(p, "an offset of at most 1048576");
	p->at = end;
	return true;
}

static bool parse_address(struct parser *p, struct value *ret)
{
	bool good = parse_term(p, ret);

	while (good && (take(p, "+") || take(p, "-")))
		good = parse_offset(p, p->at[-1] == '+' ? 1 : -1, ret);
	return good;
}

/* The last read, or an argument itself, has no offset: the probe cannot add to the result. */
static bool parse_value(struct parser *p, const struct type *type, struct jank_mark_field *ret)
{
	struct value value;

	if (!parse_address(p, &value))
		return false;
	if (value.add)
		return fail(p, "a read around the sum, *(… + 8)");
	*ret = (struct jank_mark_field){ .reg = (uint8_t)value.reg };
	if (!value.read_cnt)
		return true;
	ret->size = type->bits / 8;
	ret->deref_cnt = (uint8_t)(value.read_cnt - 1);
	memcpy(ret->offset, value.offset, value.read_cnt * sizeof(*value.offset));
	return true;
}

static bool parse_text(struct parser *p, uint8_t size, struct jank_mark_field *ret)
{
	struct value value;

	if (!parse_address(p, &value))
		return false;
	if (value.read_cnt > JANK_MARK_DEREF_MAX)
		return fail(p, "at most 3 reads (*) for the address of a text");
	*ret = (struct jank_mark_field){ .reg = (uint8_t)value.reg,
					 .size = size,
					 .deref_cnt = (uint8_t)value.read_cnt };
	memcpy(ret->offset, value.offset, value.read_cnt * sizeof(*value.offset));
	ret->offset[value.read_cnt] = value.add;
	return true;
}

static bool parse_number(struct parser *p, struct jank_mark_field *spec,
			 struct catalogue_field *field)
{
	const struct type *type = &pointer;

	for (size_t i = 0; i < LEN(types) && type == &pointer; i++) {
		if (take_word(p, types[i].name))
			type = &types[i];
	}
	field->bits = type->bits;
	field->is_signed = type->is_signed;
	return parse_value(p, type, spec);
}

static bool parse_enum(struct parser *p, struct jank_mark_field *spec,
		       struct catalogue_field *field)
{
	for (size_t i = 0; i < p->enums->cnt && !field->names; i++) {
		if (take_word(p, p->enums->items[i]->name))
			field->names = p->enums->items[i];
	}
	if (!field->names)
		return fail(p, "the name of an [enum NAME] above in this file");
	return (take(p, ",") || fail(p, ", and a number")) && parse_number(p, spec, field);
}

static const struct view {
	const char *name;
	enum catalogue_view view;
	uint32_t unit_ns;
	uint8_t bits; /* of a character of the text */
} views[] = {
	{ "symbol", VIEW_SYMBOL, 0, 0 },
	{ "class", VIEW_CLASS, 0, 0 },
	{ "text", VIEW_TEXT, 0, 8 },
	{ "text16", VIEW_TEXT, 0, 16 },
	{ "enum", VIEW_ENUM, 0, 0 },
	{ "clock_ns", VIEW_CLOCK, 1, 0 },
	{ "clock_us", VIEW_CLOCK, NS_PER_US, 0 },
	{ "clock_ms", VIEW_CLOCK, NS_PER_MS, 0 },
};

static bool parse_inside(struct parser *p, const struct view *view, struct jank_mark_field *spec,
			 struct catalogue_field *field)
{
	field->view = view->view;
	field->unit_ns = view->unit_ns;
	switch (view->view) {
	case VIEW_TEXT:
		field->bits = view->bits;
		return parse_text(p, view->bits == 16 ? JANK_MARK_TEXT16 : JANK_MARK_TEXT, spec);
	case VIEW_ENUM:
		return parse_enum(p, spec, field);
	case VIEW_CLOCK:
		return parse_number(p, spec, field);
	default:
		return parse_value(p, &pointer, spec);
	}
}

static bool parse_view(struct parser *p, struct jank_mark_field *spec,
		       struct catalogue_field *field)
{
	const struct view *view = NULL;

	*field = (struct catalogue_field){ .view = VIEW_NUMBER, .bits = 64 };
	for (size_t i = 0; i < LEN(views) && !view; i++) {
		if (take_word(p, views[i].name))
			view = &views[i];
	}
	if (!view)
		return parse_number(p, spec, field);
	return (take(p, "(") || fail(p, "(")) && parse_inside(p, view, spec, field) &&
	       (take(p, ")") || fail(p, ")"));
}

static int finish(struct parser *p, const char *text, bool good, struct err *err)
{
	skip_space(p);
	if (good && !*p->at)
		return 0;
	fail(p, "nothing more");
	if (!*p->at)
		return err__set_exit(err, JANK_EXIT_USAGE, EINVAL,
				     "\"%s\": at its end there should be %s", text, p->wanted);
	return err__set_exit(err, JANK_EXIT_USAGE, EINVAL, "\"%s\": at \"%s\" there should be %s",
			     text, p->at, p->wanted);
}

int mark_expr__view(const char *text, const struct mark_enums *enums, struct jank_mark_field *spec,
		    struct catalogue_field *field, struct err *err)
{
	struct parser p = { .at = text, .enums = enums };

	return finish(&p, text, parse_view(&p, spec, field), err);
}

int mark_expr__check(const char *text, struct jank_mark_field spec[2],
		     struct catalogue_field field[2], struct err *err)
{
	struct parser p = { .at = text };
	bool good;

	field[0] = field[1] = (struct catalogue_field){ .view = VIEW_NUMBER };
	good = parse_number(&p, &spec[0], &field[0]) &&
	       (take(&p, "==") || fail(&p, "== and another number")) &&
	       parse_number(&p, &spec[1], &field[1]);
	return finish(&p, text, good, err);
}

/* --- interpretation of the values that a mark's probe has read */

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

/* Writes one character; returns its number of bytes. */
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

/* A surrogate without its other half becomes U+FFFD; one that is cut off at the end is left out. */
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
