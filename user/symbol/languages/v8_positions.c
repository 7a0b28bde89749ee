/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of positions: pairs of numbers, each relative to the pair before; 7 bits a byte, the
 * lowest first, bit 7: another byte follows; bit 0 of a number: its sign
 * (codegen/source-position-table.cc, baseline/bytecode-offset-iterator.h in V8).
 */
#include "symbol/languages/v8.h"

#define TABLE_MAX (48u << 10) /* bytes */

struct reader {
	struct v8 *v8;
	uint64_t at, end;
	uint8_t bytes[256];
	uint64_t from, to; /* addresses of the bytes */
	bool broken;
};

static void open_bytes(struct v8 *v8, uint64_t addr, uint64_t size, struct reader *ret)
{
	*ret = (struct reader){ .v8 = v8, .at = addr, .end = addr + size };
	ret->broken = size > TABLE_MAX;
}

static void open_table(struct v8 *v8, uint64_t table, struct reader *ret)
{
	bool valid = v8__is_bytes(v8, table);

	open_bytes(v8, table - 1 + v8->layout->at[V8_ARRAY_BEGIN],
		   valid ? v8__length(v8, table) : 0, ret);
}

static uint8_t next_byte(struct reader *rd)
{
	if (rd->at == rd->end)
		rd->broken = true;
	if (rd->broken)
		return 0;
	if (rd->at >= rd->to) {
		uint64_t left = rd->end - rd->at;
		uint64_t size = left < sizeof(rd->bytes) ? left : sizeof(rd->bytes);
		enum target_read res =
			target_memory__read(rd->v8->reader->mem, rd->at, rd->bytes, size);

		rd->v8->reader->later |= res == TARGET_LATER;
		rd->broken = res != TARGET_READ;
		rd->from = rd->at;
		rd->to = rd->at + size;
	}
	return rd->bytes[rd->at++ - rd->from];
}

static uint64_t next_number(struct reader *rd)
{
	uint64_t ret = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		byte = next_byte(rd);
		ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return ret;
	}
	rd->broken = true;
	return 0;
}

static int64_t next_signed(struct reader *rd)
{
	uint64_t number = next_number(rd);

	return (int64_t)(number >> 1 ^ -(number & 1));
}

/*
 * Bit 0: not in a script. 30 bits: offset + 1. 16 bits: the inlining (codegen/source-position.h).
 */
struct v8_position v8_position__of(uint64_t value)
{
	return (struct v8_position){
		.offset = value & 1 ? 0 : (uint32_t)(value >> 1) & ((1u << 30) - 1),
		.inlining = (uint16_t)(value >> 31),
	};
}

/* A code offset that is not positive in the table is of an expression: it is the same, minus 1. */
struct v8_position v8_positions__find(struct v8 *v8, uint64_t table, uint64_t offset)
{
	int64_t code = -1, source = 0, found = 0;
	struct reader rd;

	open_table(v8, table, &rd);
	while (!rd.broken && rd.at < rd.end) {
		int64_t delta = next_signed(&rd);

		code += delta >= 0 ? delta : -(delta + 1);
		source += next_signed(&rd);
		if (rd.broken || code > (int64_t)offset)
			break;
		found = source;
	}
	return v8_position__of((uint64_t)found);
}

/* --- baseline code: the table has the size of each bytecode's instructions */

#define EXTRA_WIDE_PREFIX 3 /* Wide 0, ExtraWide 1, and the same for the debugger */

/* The size of the bytecode that follows; 0: not known. */
static uint32_t bytecode_size(struct reader *rd)
{
	const struct v8_layout *layout = rd->v8->layout;
	uint32_t code = next_byte(rd), scale = 0, prefix = code <= EXTRA_WIDE_PREFIX;
	uint32_t size;

	if (prefix) {
		scale = 1 + (code & 1);
		code = next_byte(rd);
	}
	if (rd->broken || code >= layout->bytecode_cnt)
		return 0;
	size = layout->sizes[scale * layout->bytecode_cnt + code];
	for (uint32_t i = 1; i < size; i++)
		next_byte(rd);
	return size ? prefix + size : 0;
}

uint32_t v8_baseline__bytecode(struct v8 *v8, uint64_t table, uint64_t bytecode, uint64_t offset)
{
	struct reader pcs, codes;
	uint64_t pc = 0;
	uint32_t ret = 0, size;

	open_table(v8, table, &pcs);
	open_bytes(v8, bytecode - 1 + v8->layout->at[V8_BYTECODE_BEGIN], v8__length(v8, bytecode),
		   &codes);
	while (!pcs.broken && pcs.at < pcs.end) {
		pc += next_number(&pcs);
		if (!pcs.broken && pc > offset)
			return ret;
		size = bytecode_size(&codes);
		if (!size || codes.broken)
			return UINT32_MAX;
		ret += size;
	}
	return UINT32_MAX;
}
