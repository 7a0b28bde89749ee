/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instruction sets, and call sites of this machine. */
#include "base/code/insn.h"

#include <stddef.h>
#include <string.h>

static const struct insn_arch *const archs[] = { &insn_x86, &insn_arm64 };

const struct insn_arch *insn_arch__by_machine(uint16_t elf_machine)
{
	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++) {
		if (archs[i]->elf_machine == elf_machine)
			return archs[i];
	}
	return NULL;
}

/* --- call sites */

#ifdef __aarch64__
static uint32_t last_insn(const uint8_t *code)
{
	uint32_t ret;

	memcpy(&ret, code + CALL_BYTES - sizeof(ret), sizeof(ret));
	return ret;
}

bool is_behind_call(const uint8_t *code)
{
	uint32_t insn = last_insn(code);

	return (insn & 0xfc000000) == 0x94000000 || /* bl */
	       (insn & 0xfffffc1f) == 0xd63f0000 || /* blr */
	       (insn & 0xfefff800) == 0xd63f0800;   /* blraa and its variants */
}

bool call_site__target(const uint8_t *code, uint64_t address, uint64_t *ret)
{
	uint32_t insn = last_insn(code);
	int64_t words = (int64_t)((uint64_t)insn << 38) >> 38;

	if ((insn & 0xfc000000) != 0x94000000)
		return false;
	*ret = address - sizeof(insn) + words * 4;
	return true;
}
#else
/* call *REG or *MEMORY: ff /2; the addressing form gives the length */
static bool is_indirect(const uint8_t *insn, size_t len)
{
	uint8_t mod = insn[1] >> 6, rm = insn[1] & 7;
	size_t want = 2;

	if (insn[0] != 0xff || (insn[1] >> 3 & 7) != 2)
		return false;
	if (mod != 3 && rm == 4) {
		want++; /* a SIB byte */
		if (mod == 0 && len > 2 && (insn[2] & 7) == 5)
			want += 4;
	}
	if (mod == 1)
		want += 1;
	else if (mod == 2 || (mod == 0 && rm == 5))
		want += 4;
	return want == len;
}

bool is_behind_call(const uint8_t *code)
{
	const uint8_t *end = code + CALL_BYTES;

	if (end[-5] == 0xe8)
		return true;
	for (size_t len = 2; len <= 7; len++)
		if (is_indirect(end - len, len))
			return true;
	return false;
}

bool call_site__target(const uint8_t *code, uint64_t address, uint64_t *ret)
{
	int32_t displacement;

	if (code[CALL_BYTES - 5] != 0xe8)
		return false;
	for (size_t len = 2; len <= 4; len++) /* may be an operand of an indirect call */
		if (is_indirect(code + CALL_BYTES - len, len))
			return false;
	memcpy(&displacement, code + CALL_BYTES - sizeof(displacement), sizeof(displacement));
	*ret = address + displacement;
	return true;
}
#endif
