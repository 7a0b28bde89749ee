/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Each entry begins with a byte whose uppermost bit is set, and no other byte has it: 4 bits say how the location is
 * written, 3 how many units it is good for, less one. Lines count from the entry before.
 */
#include "symbol/interpreters/script_line.h"

#include <stdbool.h>

enum form {
	FORM_ONE_LINE = 10, /* to 12: so many lines on, two columns */
	FORM_NO_COLUMNS = 13,
	FORM_LONG = 14,
	FORM_NONE = 15,
};

#define LINE_MAX_VALUE (1 << 30)

struct reader {
	const uint8_t *at, *end;
	bool broken;
};

static uint8_t next_byte(struct reader *rd)
{
	if (rd->at == rd->end || *rd->at & 0x80) {
		rd->broken = true;
		return 0;
	}
	return *rd->at++;
}

/* 6 bits a byte, the lowest first; another one follows where the seventh is set. */
static uint32_t next_number(struct reader *rd)
{
	uint32_t ret = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = next_byte(rd);
		if (shift > 24) {
			rd->broken = true;
			return 0;
		}
		ret |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return ret;
}

static int32_t next_signed(struct reader *rd)
{
	uint32_t number = next_number(rd);

	return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

/* Reads an entry's rest; by how many lines it is further on. */
static int32_t next_delta(struct reader *rd, unsigned form)
{
	int32_t delta = 0;

	if (form == FORM_NO_COLUMNS)
		return next_signed(rd);
	if (form == FORM_LONG) {
		delta = next_signed(rd);
		for (int i = 0; i < 3; i++) /* the last line, and columns */
			next_number(rd);
	} else if (form >= FORM_ONE_LINE && form < FORM_NO_COLUMNS) {
		delta = form - FORM_ONE_LINE;
		next_byte(rd);
		next_byte(rd);
	} else if (form < FORM_ONE_LINE) {
		next_byte(rd);
	}
	return delta;
}

uint32_t script_line__at(const uint8_t *table, size_t size, uint32_t first_line, uint64_t unit)
{
	struct reader rd = { table, table + size, false };
	int64_t line = first_line;
	uint64_t begin = 0;

	while (rd.at < rd.end && *rd.at & 0x80) {
		unsigned form = *rd.at >> 3 & 15, units = (*rd.at & 7) + 1;

		rd.at++;
		line += next_delta(&rd, form);
		if (rd.broken || line < -LINE_MAX_VALUE || line > LINE_MAX_VALUE)
			return 0;
		if (unit - begin < units)
			return form == FORM_NONE || line < 0 ? 0 : (uint32_t)line;
		begin += units;
	}
	return 0;
}
