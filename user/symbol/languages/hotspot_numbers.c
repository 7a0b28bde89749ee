/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See hotspot.h; utilities/unsigned5.hpp and code/compressedStream.cpp in OpenJDK. */
#include "symbol/languages/hotspot.h"

#define DIGITS	  5
#define HIGH_CNT  64 /* values of a byte that another one follows */
#define HIGH_BITS 6
#define PAIR_LONG 0xff

static uint32_t next_byte(struct hs_numbers *numbers)
{
	if (numbers->at >= numbers->end) {
		numbers->broken = true;
		return 0;
	}
	return *numbers->at++;
}

uint32_t hs_numbers__next(struct hs_numbers *numbers)
{
	uint32_t low = 256 - HIGH_CNT - numbers->excluded, ret = 0;

	for (unsigned i = 0; i < DIGITS; i++) {
		uint32_t byte = next_byte(numbers);

		if (byte < numbers->excluded)
			numbers->broken = true;
		if (numbers->broken)
			return 0;
		byte -= numbers->excluded;
		ret += byte << (HIGH_BITS * i);
		if (byte < low)
			break;
	}
	return ret;
}

/* Bit 0: the sign. */
static int32_t next_signed(struct hs_numbers *numbers)
{
	uint32_t number = hs_numbers__next(numbers);

	return (int32_t)(number >> 1 ^ -(number & 1));
}

/*
 * Pairs of an index and a line, relative to the pair before: a byte with 5 and 3 bits, or two
 * numbers behind PAIR_LONG; 0 is the end. They need not be in order: the last one at or below
 * counts.
 */
uint32_t hs_lines__find(const uint8_t *table, size_t len, uint8_t excluded, uint32_t bci)
{
	struct hs_numbers numbers = { .at = table, .end = table + len, .excluded = excluded };
	int64_t at = 0, line = 0, best = -1, ret = 0;

	for (;;) {
		uint32_t byte = next_byte(&numbers);

		if (!numbers.broken && !byte)
			break;
		if (byte == PAIR_LONG) {
			at += next_signed(&numbers);
			line += next_signed(&numbers);
		} else {
			at += byte >> 3;
			line += byte & 7;
		}
		if (numbers.broken)
			return 0;
		if (at <= bci && at >= best) {
			best = at;
			ret = line;
		}
	}
	return ret > 0 && ret <= UINT16_MAX ? (uint32_t)ret : 0;
}
