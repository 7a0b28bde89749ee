/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of consecutive DWARF numbers. Beyond the end, each read returns 0 and sets `bad`. */
#ifndef JANK_SYMBOL_DWARF_CURSOR_H
#define JANK_SYMBOL_DWARF_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline const uint8_t *cursor__skip(struct cursor *cur, uint64_t len)
{
	const uint8_t *ret = cur->at;

	if (len > (uint64_t)(cur->end - cur->at)) {
		cur->bad = true;
		cur->at = cur->end;
		return NULL;
	}
	cur->at += len;
	return ret;
}

/* Reads a number of 1, 2, 4 or 8 bytes. Larger sizes set `bad`. */
static inline uint64_t cursor__fixed(struct cursor *cur, unsigned size)
{
	const uint8_t *from = cursor__skip(cur, size);
	uint64_t ret = 0; /* little-endian, like all supported machines */

	cur->bad |= size > sizeof(ret);
	if (from && size <= sizeof(ret))
		memcpy(&ret, from, size);
	return ret;
}

static inline int64_t cursor__signed(struct cursor *cur, unsigned size)
{
	unsigned shift = 64 - 8 * size;

	return (int64_t)(cursor__fixed(cur, size) << shift) >> shift;
}

static inline uint64_t cursor__uleb(struct cursor *cur)
{
	uint64_t ret = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor__fixed(cur, 1);
		if (shift < 64)
			ret |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return ret;
}

static inline int64_t cursor__sleb(struct cursor *cur)
{
	uint64_t ret = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor__fixed(cur, 1);
		if (shift < 64)
			ret |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		ret |= ~0ull << shift;
	return ret;
}

/* Returns a string and skips its NUL; "" when the NUL is missing. */
static inline const char *cursor__str(struct cursor *cur)
{
	const uint8_t *end = memchr(cur->at, 0, cur->end - cur->at), *ret = cur->at;

	if (!end) {
		cur->bad = true;
		cur->at = cur->end;
		return "";
	}
	cur->at = end + 1;
	return (const char *)ret;
}

#endif
