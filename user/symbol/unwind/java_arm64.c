/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot's code on arm64 (JDK 11 and later): where it builds and removes a frame, and where a
 * callee returns without a call before. See java_code.h.
 */
#include "symbol/unwind/java_code.h"

#include <string.h>

#define PUSH_PAIR     0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define POP_PAIR      0xa8c17bfd /* ldp x29, x30, [sp], #16 */
#define RET	      0xd65f03c0
#define LOAD_LAST_SP  0xf85f03b4 /* ldur x20, [x29, #-16] */
#define LOAD_LAST_IDX 0xf85f03a8 /* ldur x8, [x29, #-16], from JDK 22 on */
#define CLEAR_LAST_SP 0xf81f03bf /* stur xzr, [x29, #-16] */

#define PAIR_NEAR 3 /* instructions from a pushed pair to the one that makes room for the rest */
#define AHEAD	  ((JAVA_ARM64_BYTES - JAVA_ARM64_BEFORE) / 4)

static uint32_t insn_at(const uint8_t *code, int i)
{
	uint32_t ret;

	memcpy(&ret, code + 4 * i, sizeof(ret));
	return ret;
}

static bool stores_pair(uint32_t insn)
{
	return (insn & 0xffc07fff) == 0xa9007bfd; /* stp x29, x30, [sp, #n] */
}

static bool loads_pair(uint32_t insn)
{
	return (insn & 0xffc07fff) == 0xa9407bfd; /* ldp x29, x30, [sp, #n] */
}

/* sub sp, sp, #n; for sub sp, sp, xN: 0 */
static bool lowers_sp(uint32_t insn, uint32_t *ret)
{
	*ret = (insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0);
	if ((insn & 0xff8003ff) == 0xd10003ff)
		return true;
	*ret = 0;
	return (insn & 0xffe0ffff) == 0xcb2063ff;
}

/* add sp, sp, #n or xN; mov sp, x29 */
static bool raises_sp(uint32_t insn)
{
	return (insn & 0xff8003ff) == 0x910003ff || (insn & 0xffe0ffff) == 0x8b2063ff ||
	       insn == 0x910003bf;
}

static bool is_call(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000;
}

static bool has_pair_before(const uint8_t *code)
{
	for (int i = 1; i <= PAIR_NEAR; i++)
		if (insn_at(code, -i) == PUSH_PAIR)
			return true;
	return false;
}

/*
 * A frame is built in one piece (sub sp; stp) or, when it is large, as a pair and the rest; and
 * removed the same way. No other code of a method moves the stack pointer.
 */
enum java_frame java_arm64__frame(const uint8_t *code, uint32_t size)
{
	uint32_t room;

	code += JAVA_ARM64_BEFORE;
	if (insn_at(code, 0) == POP_PAIR)
		return JAVA_FRAME_PAIR;
	if (stores_pair(insn_at(code, 0)) && lowers_sp(insn_at(code, -1), &room))
		return room == size ? JAVA_FRAME_EMPTY : JAVA_FRAME_WHOLE;
	for (int i = 0; i < (int)AHEAD; i++) {
		uint32_t insn = insn_at(code, i);

		if (insn == PUSH_PAIR || insn == RET)
			return JAVA_FRAME_NONE;
		if (lowers_sp(insn, &room) && has_pair_before(code))
			return JAVA_FRAME_PAIR;
		if (lowers_sp(insn, &room) && room == size)
			return JAVA_FRAME_NONE;
		if (loads_pair(insn) || raises_sp(insn) || is_call(insn))
			break;
	}
	return JAVA_FRAME_WHOLE;
}

bool java_arm64__is_bare_return(const uint8_t *code)
{
	return insn_at(code, 0) == RET;
}

/* ldr wzr, [xN] */
static bool is_poll(uint32_t insn)
{
	return (insn & 0xfffffc1f) == 0xb940001f;
}

bool java_arm64__is_return(const uint8_t *code)
{
	uint32_t first = insn_at(code, 0);

	if (first == LOAD_LAST_SP || first == LOAD_LAST_IDX)
		return insn_at(code, 1) == CLEAR_LAST_SP || insn_at(code, 2) == CLEAR_LAST_SP;
	return is_poll(first);
}
