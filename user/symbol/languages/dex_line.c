/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of instructions: the debug_info_item of a method, a program of line and address steps. */
#include "symbol/languages/dex.h"

#define STEPS_MAX 65536 /* a method has at most as many instructions */

enum {
	DBG_END_SEQUENCE,
	DBG_ADVANCE_PC,
	DBG_ADVANCE_LINE,
	DBG_START_LOCAL,
	DBG_START_LOCAL_EXTENDED,
	DBG_END_LOCAL,
	DBG_RESTART_LOCAL,
	DBG_SET_PROLOGUE_END,
	DBG_SET_EPILOGUE_BEGIN,
	DBG_SET_FILE,
	DBG_FIRST_SPECIAL,
};

#define LINE_BASE  (-4)
#define LINE_RANGE 15

/*
 * CompactDex has a table of offsets by method id instead (CompactOffsetTable): of each 16 methods
 * two bytes whose bits say which have lines, then a difference for each of these.
 */
static uint32_t compact_offset(const struct dex *dex, struct dex_bytes *bytes, uint32_t method)
{
	uint64_t blocks = dex->debug_pos;
	struct dex_cursor cur =
		dex__cursor(dex, bytes, blocks + dex->debug_table + method / 16 * 4ull);
	uint32_t ret = dex->debug_base, bits;

	cur = dex__cursor(dex, bytes, blocks + dex_cursor__fixed(&cur, 4));
	bits = dex_cursor__fixed(&cur, 1) << 8;
	bits |= dex_cursor__fixed(&cur, 1);
	if (!(bits >> method % 16 & 1))
		return 0;
	for (uint32_t i = 0; i <= method % 16; i++)
		if (bits >> i & 1)
			ret += dex_cursor__uleb(&cur);
	return cur.bad ? 0 : ret;
}

static void skip(struct dex_cursor *cur, unsigned cnt)
{
	while (cnt--)
		dex_cursor__uleb(cur);
}

struct position {
	uint32_t unit, line;
};

/* Runs one step. Returns false at the end; *ret_is_entry: the position is one of the table. */
static bool step(struct dex_cursor *cur, struct position *now, bool *ret_is_entry)
{
	uint8_t op = dex_cursor__fixed(cur, 1);

	*ret_is_entry = op >= DBG_FIRST_SPECIAL;
	switch (op) {
	case DBG_END_SEQUENCE:
		return false;
	case DBG_ADVANCE_PC:
		now->unit += dex_cursor__uleb(cur);
		break;
	case DBG_ADVANCE_LINE:
		now->line += dex_cursor__sleb(cur);
		break;
	case DBG_START_LOCAL:
		skip(cur, 3);
		break;
	case DBG_START_LOCAL_EXTENDED:
		skip(cur, 4);
		break;
	case DBG_END_LOCAL:
	case DBG_RESTART_LOCAL:
	case DBG_SET_FILE:
		skip(cur, 1);
		break;
	case DBG_SET_PROLOGUE_END:
	case DBG_SET_EPILOGUE_BEGIN:
		break;
	default:
		op -= DBG_FIRST_SPECIAL;
		now->line += LINE_BASE + op % LINE_RANGE;
		now->unit += op / LINE_RANGE;
	}
	return !cur->bad;
}

uint32_t dex_method__line(const struct dex *dex, struct dex_bytes *bytes,
			  const struct dex_method *method)
{
	uint32_t off =
		dex->compact ? compact_offset(dex, bytes, method->index) : method->debug_info;
	struct dex_cursor cur = dex__cursor(dex, bytes, off);
	struct position now = {};
	uint32_t ret = 0;
	bool is_entry;

	if (!off)
		return 0;
	now.line = dex_cursor__uleb(&cur);
	skip(&cur, dex_cursor__uleb(&cur) & 0xff); /* names of parameters, at most 255 */
	for (unsigned i = 0; i < STEPS_MAX && step(&cur, &now, &is_entry); i++) {
		if (is_entry && now.unit > method->unit)
			break;
		if (is_entry)
			ret = now.line;
	}
	return (int32_t)ret > 0 && !cur.bad ? ret : 0;
}
