/* SPDX-License-Identifier: GPL-2.0 */
/* Machine code as disassemblers show it. */
#ifndef JANK_TEST_HEX_H
#define JANK_TEST_HEX_H

#include <ctype.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Parses the bytes of "0f1f44 00 00", at most max, up to the first other text. Returns their
 * number.
 */
static inline size_t hex(const char *text, uint8_t *ret, size_t max)
{
	size_t n = 0;
	unsigned byte;

	while (n < max && isxdigit((unsigned char)*text) && sscanf(text, "%2x", &byte) == 1) {
		ret[n++] = (uint8_t)byte;
		text += isxdigit((unsigned char)text[1]) ? 2 : 1;
		text += *text == ' ';
	}
	return n;
}

#endif
