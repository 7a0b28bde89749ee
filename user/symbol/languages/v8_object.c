/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words, types and strings of V8's heap. See v8.h. */
#include "symbol/languages/v8.h"

#include <string.h>

#define TAG_MASK   3u
#define TAG	   1u
#define TYPE_NONE  (-1)
#define TYPE_LATER (-2)
#define NESTED_MAX 4 /* strings of strings */
#define CHARS_MAX  512
#define UNCACHED   0x10 /* of an external string's type: it has no pointer to its characters */

static void read_at(struct v8 *v8, uint64_t addr, void *buf, size_t len)
{
	v8->reader->later |= target_memory__read(v8->reader->mem, addr, buf, len) == TARGET_LATER;
}

uint64_t v8__word(struct v8 *v8, uint64_t addr)
{
	uint64_t ret;

	read_at(v8, addr, &ret, sizeof(ret));
	return ret;
}

uint32_t v8__half(struct v8 *v8, uint64_t addr)
{
	uint32_t ret;

	read_at(v8, addr, &ret, sizeof(ret));
	return ret;
}

uint64_t v8__moved(struct v8 *v8, uint64_t object)
{
	uint64_t map = v8__may_be_object(object) ? v8__word(v8, object - TAG) : 0;

	return v8__may_be_object(map + TAG) ? map + TAG : object;
}

uint64_t v8__member(struct v8 *v8, uint64_t object, enum v8_field field)
{
	return v8__word(v8, object - TAG + v8->layout->at[field]);
}

static int32_t type_of(struct v8 *v8, uint64_t object)
{
	uint64_t map;
	uint16_t type;
	enum target_read res;

	if ((object & TAG_MASK) != TAG)
		return TYPE_NONE;
	res = target_memory__read(v8->reader->mem, object - TAG, &map, sizeof(map));
	if (res == TARGET_READ && (map & TAG_MASK) != TAG)
		return TYPE_NONE;
	if (res == TARGET_READ)
		res = target_memory__read(v8->reader->mem, map - TAG + v8->layout->at[V8_MAP_TYPE],
					  &type, sizeof(type));
	v8->reader->later |= res == TARGET_LATER;
	if (res != TARGET_READ)
		return res == TARGET_LATER ? TYPE_LATER : TYPE_NONE;
	return type;
}

static bool fits(const struct v8 *v8, int32_t type, enum v8_field first, enum v8_field last)
{
	const int32_t *at = v8->layout->at;

	return type == TYPE_LATER ||
	       (type >= 0 && at[first] != V8_NONE && type >= at[first] && type <= at[last]);
}

bool v8__is(struct v8 *v8, uint64_t object, enum v8_field first, enum v8_field last)
{
	return fits(v8, type_of(v8, object), first, last);
}

bool v8__is_object(struct v8 *v8, uint64_t object)
{
	return type_of(v8, object) != TYPE_NONE;
}

bool v8__is_bytes(struct v8 *v8, uint64_t object)
{
	int32_t type = type_of(v8, object);

	return fits(v8, type, V8_TYPE_BYTES, V8_TYPE_BYTES) ||
	       fits(v8, type, V8_TYPE_TRUSTED_BYTES, V8_TYPE_TRUSTED_BYTES);
}

bool v8__is_array(struct v8 *v8, uint64_t object)
{
	int32_t type = type_of(v8, object);

	for (enum v8_field kind = V8_TYPE_ARRAY; kind <= V8_TYPE_PROTECTED_ARRAY; kind++)
		if (fits(v8, type, kind, kind))
			return true;
	return false;
}

uint64_t v8__length(struct v8 *v8, uint64_t array)
{
	uint64_t length = v8__member(v8, array, V8_ARRAY_LENGTH);

	return v8__is_small(length) && v8__small(length) > 0 ? (uint64_t)v8__small(length) : 0;
}

uint64_t v8__element(struct v8 *v8, uint64_t array, uint64_t index)
{
	if (index >= v8__length(v8, array))
		return 0;
	return v8__word(v8, array - TAG + v8->layout->at[V8_ARRAY_BEGIN] + 8 * index);
}

/* --- strings */

/* TYPE_NONE: no string. */
static int32_t string_type(struct v8 *v8, uint64_t object)
{
	int32_t type = type_of(v8, object);

	return type < v8->layout->at[V8_TYPE_NO_STRING] ? type : TYPE_NONE;
}

bool v8__is_string(struct v8 *v8, uint64_t object)
{
	return string_type(v8, object) != TYPE_NONE;
}

/*
 * The string that has the characters, behind strings that only refer to one. *skip: characters
 * before its part.
 */
static uint64_t flat_of(struct v8 *v8, uint64_t string, uint32_t *skip, int32_t *ret_type)
{
	const int32_t *at = v8->layout->at;

	*skip = 0;
	for (unsigned i = 0; i < NESTED_MAX; i++) {
		int32_t type = string_type(v8, string), form;

		*ret_type = type;
		if (type < 0)
			return 0;
		form = type & at[V8_STRING_FORM];
		if (form == at[V8_STRING_FORM_THIN]) {
			string = v8__member(v8, string, V8_STRING_ACTUAL);
		} else if (form == at[V8_STRING_FORM_SLICED]) {
			*skip += v8__small(v8__member(v8, string, V8_STRING_OFFSET));
			string = v8__member(v8, string, V8_STRING_PARENT);
		} else if (form == at[V8_STRING_FORM_CONS]) {
			uint64_t second = v8__member(v8, string, V8_STRING_SECOND);

			if (v8__half(v8, second - TAG + at[V8_STRING_LENGTH]))
				return 0;
			string = v8__member(v8, string, V8_STRING_FIRST);
		} else {
			return string;
		}
	}
	return 0;
}

bool v8__chars(struct v8 *v8, uint64_t string, struct v8_chars *ret)
{
	const int32_t *at = v8->layout->at;
	uint32_t cnt = v8__half(v8, string - TAG + at[V8_STRING_LENGTH]), skip;
	int32_t type;
	uint64_t flat = flat_of(v8, string, &skip, &type);
	bool one;

	if (!flat)
		return false;
	one = (type & at[V8_STRING_WIDTH]) == at[V8_STRING_WIDTH_ONE];
	*ret = (struct v8_chars){ .cnt = cnt, .width = one ? 1 : 2 };
	if ((type & at[V8_STRING_FORM]) != at[V8_STRING_FORM_EXTERNAL])
		ret->addr = flat - TAG + at[one ? V8_STRING_ONE_BYTE : V8_STRING_TWO_BYTE];
	else if (!(type & UNCACHED))
		ret->addr = v8__member(v8, flat, V8_STRING_DATA);
	else
		return false;
	ret->addr += (uint64_t)skip * ret->width;
	return true;
}

/* Adds a character in UTF-8, if it fits. Halves of a pair are replaced: no name needs them. */
static size_t put(char *buf, size_t len, size_t cap, uint32_t c)
{
	if (c < 0x20 || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (len + 3 >= cap)
		return len;
	if (c < 0x80) {
		buf[len++] = (char)c;
	} else if (c < 0x800) {
		buf[len++] = (char)(0xc0 | c >> 6);
		buf[len++] = (char)(0x80 | (c & 0x3f));
	} else {
		buf[len++] = (char)(0xe0 | c >> 12);
		buf[len++] = (char)(0x80 | (c >> 6 & 0x3f));
		buf[len++] = (char)(0x80 | (c & 0x3f));
	}
	return len;
}

size_t v8__text(struct v8 *v8, uint64_t string, char *buf, size_t cap)
{
	uint8_t bytes[2 * CHARS_MAX];
	struct v8_chars chars;
	size_t len = 0;
	uint16_t wide;

	buf[0] = '\0';
	if (!v8__chars(v8, string, &chars))
		return 0;
	if (chars.cnt > CHARS_MAX)
		chars.cnt = CHARS_MAX;
	read_at(v8, chars.addr, bytes, (size_t)chars.cnt * chars.width);
	for (uint32_t i = 0; i < chars.cnt; i++) {
		memcpy(&wide, bytes + 2 * i * (chars.width - 1), sizeof(wide));
		len = put(buf, len, cap, chars.width == 1 ? bytes[i] : wide);
	}
	buf[len] = '\0';
	return len;
}
