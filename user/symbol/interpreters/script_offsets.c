/* SPDX-License-Identifier: GPL-2.0 */
/* Taken from the headers of 3.11.2, 3.12.1 and 3.13.0. A wrong one shows: see script_threads.c. */
#include "symbol/interpreters/script_offsets.h"

#include <string.h>

#include "bpf/jank_abi.h"

#define MINOR(version) ((version) >> 16)
#define OFFSET_MAX     (1u << 20)

#define IS_ENTRY	1 /* 3.11: is_entry */
#define OWNED_BY_CSTACK 3 /* since 3.12: owner */

static const struct script_offsets known[] = {
	{
		.version = 0x030b0000,
		.interpreters_head = 40,
		.interp_next = 0,
		.threads_head = 16,
		.tstate = { .next = 8, .interp = 16, .native_id = 160, .frame = 56, .cframe = 8 },
		.frame = { .code = 32,
			   .previous = 48,
			   .instr = 56,
			   .mark_at = 68,
			   .mark = IS_ENTRY },
		.code = { .units = 16,
			  .filename = 112,
			  .name = 120,
			  .qualname = 128,
			  .linetable = 136,
			  .first_line = 72,
			  .bytecode = 184 },
		.unicode = { .length = 16,
			     .hash = 24,
			     .state = 32,
			     .ascii_sz = 48,
			     .compact_sz = 72 },
		.bytes = { .size = 16, .data = 32 },
	},
	{
		.version = 0x030c0000,
		.interpreters_head = 40,
		.interp_next = 0,
		.threads_head = 72,
		.tstate = { .next = 8, .interp = 16, .native_id = 144, .frame = 56, .cframe = 0 },
		.frame = { .code = 0,
			   .previous = 8,
			   .instr = 56,
			   .mark_at = 70,
			   .mark = OWNED_BY_CSTACK,
			   .shim = true },
		.code = { .units = 16,
			  .filename = 112,
			  .name = 120,
			  .qualname = 128,
			  .linetable = 136,
			  .first_line = 68,
			  .bytecode = 192 },
		.unicode = { .length = 16,
			     .hash = 24,
			     .state = 32,
			     .ascii_sz = 40,
			     .compact_sz = 56 },
		.bytes = { .size = 16, .data = 32 },
	},
};

bool script_offsets__of(uint32_t version, struct script_offsets *ret)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (MINOR(known[i].version) != MINOR(version))
			continue;
		*ret = known[i];
		ret->version = version;
		return true;
	}
	return false;
}

bool script_offsets__told(uint32_t version)
{
	return MINOR(version) == 0x030d;
}

/* Of _Py_DebugOffsets, the place of each word that is used here. */
enum told {
	TOLD_COOKIE,
	TOLD_VERSION,
	TOLD_FREE_THREADED,
	TOLD_INTERPRETERS_HEAD = 5,
	TOLD_INTERP_NEXT = 8,
	TOLD_THREADS_HEAD,
	TOLD_TSTATE_NEXT = 21,
	TOLD_TSTATE_INTERP,
	TOLD_CURRENT_FRAME,
	TOLD_NATIVE_ID = 25,
	TOLD_PREVIOUS = 29,
	TOLD_EXECUTABLE,
	TOLD_INSTR,
	TOLD_OWNER = 33,
	TOLD_FILENAME = 35,
	TOLD_NAME,
	TOLD_QUALNAME,
	TOLD_LINETABLE,
	TOLD_FIRST_LINE,
	TOLD_BYTECODE = 43,
	TOLD_BYTES_SIZE = 65,
	TOLD_BYTES_DATA,
	TOLD_UNICODE_STATE = 68,
	TOLD_UNICODE_LENGTH,
	TOLD_ASCII_SZ,
	TOLD_CNT,
};

static bool is_word_of(uint32_t at, uint32_t size)
{
	return at % 8 == 0 && at + 8 <= size;
}

/* The probes read words of a frame, as far as they read it; and the line and the name in one piece. */
static bool fits_probes(const struct script_offsets *offsets)
{
	uint32_t begin = script_offsets__code_at(offsets);

	return is_word_of(offsets->frame.code, JANK_SCRIPT_FRAME_SZ) &&
	       is_word_of(offsets->frame.previous, JANK_SCRIPT_FRAME_SZ) &&
	       is_word_of(offsets->frame.instr, JANK_SCRIPT_FRAME_SZ) &&
	       offsets->frame.mark_at < JANK_SCRIPT_FRAME_SZ && offsets->code.name >= begin &&
	       offsets->code.first_line % 4 == 0 &&
	       is_word_of(offsets->code.name - begin, JANK_SCRIPT_CODE_SZ) && begin <= UINT16_MAX &&
	       offsets->unicode.hash <= UINT16_MAX && offsets->tstate.frame <= UINT16_MAX &&
	       offsets->tstate.native_id <= UINT16_MAX;
}

uint32_t script_offsets__code_at(const struct script_offsets *offsets)
{
	return offsets->code.first_line & ~7u;
}

bool script_offsets__read(const uint8_t told[SCRIPT_OFFSETS_SZ], uint32_t version,
			  struct script_offsets *ret)
{
	uint64_t words[SCRIPT_OFFSETS_SZ / 8];

	memcpy(words, told, sizeof(words));
	if (memcmp(told, "xdebugpy", 8) || words[TOLD_VERSION] != version ||
	    words[TOLD_FREE_THREADED])
		return false;
	for (size_t i = TOLD_FREE_THREADED; i < TOLD_CNT; i++)
		if (words[i] > OFFSET_MAX)
			return false;
	*ret = (struct script_offsets){
		.version = version,
		.interpreters_head = words[TOLD_INTERPRETERS_HEAD],
		.interp_next = words[TOLD_INTERP_NEXT],
		.threads_head = words[TOLD_THREADS_HEAD],
		.tstate = { .next = words[TOLD_TSTATE_NEXT],
			    .interp = words[TOLD_TSTATE_INTERP],
			    .native_id = words[TOLD_NATIVE_ID],
			    .frame = words[TOLD_CURRENT_FRAME],
			    .direct = true },
		.frame = { .code = words[TOLD_EXECUTABLE],
			   .previous = words[TOLD_PREVIOUS],
			   .instr = words[TOLD_INSTR],
			   .mark_at = words[TOLD_OWNER],
			   .mark = OWNED_BY_CSTACK,
			   .shim = true },
		.code = { .units = words[TOLD_BYTES_SIZE],
			  .filename = words[TOLD_FILENAME],
			  .name = words[TOLD_NAME],
			  .qualname = words[TOLD_QUALNAME],
			  .linetable = words[TOLD_LINETABLE],
			  .first_line = words[TOLD_FIRST_LINE],
			  .bytecode = words[TOLD_BYTECODE] },
		.unicode = { .length = words[TOLD_UNICODE_LENGTH],
			     .hash = words[TOLD_UNICODE_LENGTH] + 8,
			     .state = words[TOLD_UNICODE_STATE],
			     .ascii_sz = words[TOLD_ASCII_SZ],
			     .compact_sz = words[TOLD_ASCII_SZ] + 16 },
		.bytes = { .size = words[TOLD_BYTES_SIZE], .data = words[TOLD_BYTES_DATA] },
	};
	return fits_probes(ret);
}
