/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instruction sets, and call sites. */
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
/* xpaclri removes the signature in x30, and does nothing on a machine without signatures. */
uint64_t code_address__mask(void)
{
	const uint64_t below_55 = (1ull << 55) - 1; /* bit 55 is 0 in addresses of user space */
	register uint64_t x30 __asm__("x30") = below_55;

	__asm__("hint #7" : "+r"(x30));
	return x30 & below_55;
}
#else
uint64_t code_address__mask(void)
{
	return UINT64_MAX;
}
#endif

static uint32_t last_insn(const uint8_t *code)
{
	uint32_t ret;

	memcpy(&ret, code + CALL_BYTES - sizeof(ret), sizeof(ret));
	return ret;
}

static bool is_arm64_call(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 || /* bl */
	       (insn & 0xfffffc1f) == 0xd63f0000 || /* blr */
	       (insn & 0xfefff800) == 0xd63f0800;   /* blraa and its variants */
}

#define ARM_NOP 0xe320f000 /* looks like a blx in Thumb state; before bionic's __restore */

static bool is_arm_call(uint32_t insn)
{
	if (insn == ARM_NOP)
		return false;
	return (insn & 0x0f000000) == 0x0b000000 || /* bl, blx with an immediate */
	       (insn & 0xfe000000) == 0xfa000000 ||
	       (insn & 0x0ffffff0) == 0x012fff30 || /* blx REG */
	       (insn & 0xd000f800) == 0xd000f000 || /* the same in Thumb state */
	       (insn & 0xd001f800) == 0xc000f000 || (insn >> 16 & 0xff87) == 0x4780;
}

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

static bool is_x86_call(const uint8_t *end)
{
	if (end[-5] == 0xe8)
		return true;
	for (size_t len = 2; len <= 7; len++)
		if (is_indirect(end - len, len))
			return true;
	return false;
}

bool is_behind_call(uint16_t machine, const uint8_t *code)
{
	switch (machine) {
	case EM_X86_64:
	case EM_386:
		return is_x86_call(code + CALL_BYTES);
	case EM_AARCH64:
		return is_arm64_call(last_insn(code));
	case EM_ARM:
		return is_arm_call(last_insn(code));
	}
	return false;
}

static bool arm64_target(const uint8_t *code, uint64_t address, uint64_t *ret)
{
	uint32_t insn = last_insn(code);
	int64_t words = (int64_t)((uint64_t)insn << 38) >> 38;

	if ((insn & 0xfc000000) != 0x94000000)
		return false;
	*ret = address - sizeof(insn) + words * 4;
	return true;
}

static bool x86_target(const uint8_t *code, uint64_t address, uint64_t *ret)
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

bool call_site__target(uint16_t machine, const uint8_t *code, uint64_t address, uint64_t *ret)
{
	switch (machine) {
	case EM_X86_64:
	case EM_386:
		return x86_target(code, address, ret);
	case EM_AARCH64:
		return arm64_target(code, address, ret);
	}
	return false;
}
