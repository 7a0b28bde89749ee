/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What instructions do to a function's frame: prologues and epilogues as compilers and linkers emit
 * them. See walk.h.
 */
#include <string.h>

#include "symbol/unwind/walk.h"

/* --- arm64 */

#define RET	   0xd65f03c0
#define BTI_C	   0xd503245f
#define MOV_FP_SP  0x910003fd
#define PUSH_LINK  0xa9bf7bf0			    /* stp x16, x30, [sp, #-16]! */
#define BR_X17	   0xd61f0220			    /* the last instruction of PLT0 */
#define IS_PUSH(i) (((i)&0xffc07fff) == 0xa9807bfd) /* stp x29, x30, [sp, #-n]! */

static uint32_t insn_at(const uint8_t *code)
{
	uint32_t ret;

	memcpy(&ret, code, sizeof(ret));
	return ret;
}

static bool arm64_changes_stack(const uint8_t *code, size_t len)
{
	uint32_t insn;

	for (size_t i = 0; i + sizeof(insn) <= len; i += sizeof(insn)) {
		insn = insn_at(code + i);
		if ((insn & 0x7f8003ff) == 0x510003ff || /* sub sp, sp, #n */
		    (insn & 0x3f0003e0) == 0x290003e0 || /* pairs */
		    (insn & 0xffe00fff) == 0xf8000ffe || /* str x30, [sp, #-n]! */
		    (insn & 0xfc000000) == 0x94000000 || /* calls */
		    (insn & 0xfffffc1f) == 0xd63f0000)
			return true;
	}
	return false;
}

static bool arm64_sets_up_frame(const uint8_t *code, uint64_t *size)
{
	uint32_t insn;

	*size = 0;
	for (size_t i = 0; i < FRAME_CODE_PROLOGUE; i += sizeof(insn)) {
		insn = insn_at(code + i);
		if ((insn & 0xffc07fff) == 0xa9007bfd) /* stp x29, x30, [sp, #n] */
			return true;
		if (!IS_PUSH(insn))
			continue;
		/*
		 * The frame pointer equals the stack pointer after this push, and nothing else was
		 * pushed.
		 */
		if (i + 4 < FRAME_CODE_PROLOGUE && insn_at(code + i + 4) == MOV_FP_SP &&
		    !arm64_changes_stack(code, i))
			*size = (128 - (insn >> 15 & 0x7f)) * 8;
		return true;
	}
	return false;
}

static bool arm64_is_frameless(const uint8_t *code, unsigned *slot)
{
	uint32_t insn = insn_at(code);

	*slot = 0;
	if (insn == BTI_C)
		insn = insn_at(code + 4);
	return insn == RET || insn == PUSH_LINK || IS_PUSH(insn);
}

static bool arm64_pushed_link(const uint8_t *code)
{
	bool ends = false;

	for (size_t i = 0; i < FRAME_CODE_STUB && !ends; i += sizeof(uint32_t))
		ends = insn_at(code + i) == BR_X17;
	for (size_t i = sizeof(uint32_t); ends && i <= FRAME_CODE_STUB; i += sizeof(uint32_t))
		if (insn_at(code - i) == PUSH_LINK)
			return true;
	return false;
}

const struct frame_code frame_code_arm64 = {
	.sets_up_frame = arm64_sets_up_frame,
	.changes_stack = arm64_changes_stack,
	.is_frameless = arm64_is_frameless,
	.pushed_link = arm64_pushed_link,
};

/* --- x86-64 and i386 */

static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* mov %rsp, %rbp, in its two forms; in 32-bit code without the prefix */
static bool is_mov_to_fp(const uint8_t *code)
{
	code += code[0] == 0x48;
	return (code[0] == 0x89 && code[1] == 0xe5) || (code[0] == 0x8b && code[1] == 0xec);
}

/* call; add $n, %eax: 32-bit code, such as the vdso's, first gets the address of its data */
static bool is_own_address(const uint8_t *code)
{
	return code[0] == 0xe8 && code[5] == 0x05;
}

static bool x86_sets_up_frame(const uint8_t *code, uint64_t *size)
{
	*size = 0;
	if (!memcmp(code, endbr64, 3))
		code += sizeof(endbr64);
	else if (is_own_address(code))
		code += 10;
	return code[0] == 0x55 && is_mov_to_fp(code + 1);
}

/* The scan may start within an instruction, so it may see a change where there is none. */
static bool x86_changes_stack(const uint8_t *code, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++)
		if ((code[i] == 0x55 && is_mov_to_fp(code + i + 1)) ||
		    ((code[i] == 0x81 || code[i] == 0x83) && code[i + 1] == 0xec) ||
		    (code[i] == 0x8d && code[i + 1] == 0x64))
			return true;
	return len && (code[0] >= 0x50 && code[0] <= 0x57);
}

static bool x86_is_frameless(const uint8_t *code, unsigned *slot)
{
	uint64_t size;

	*slot = code[-1] == 0x55 && is_mov_to_fp(code);
	if (code[0] == 0x05 && code[5] == 0x55) /* see is_own_address */
		code += 5;
	return *slot || code[0] == 0xc3 || code[0] == 0xc2 || x86_sets_up_frame(code, &size);
}

/* No pushed_link: the linker writes tables for its stubs. */
const struct frame_code frame_code_x86 = {
	.before = 1,
	.sets_up_frame = x86_sets_up_frame,
	.changes_stack = x86_changes_stack,
	.is_frameless = x86_is_frameless,
};
