/* SPDX-License-Identifier: GPL-2.0 */
/* Looks at the code before each address. */
#include "catalogue/return_addresses.h"

#include <string.h>

#include "base/apart.h"

static bool read_code(const struct code_of *of, uint64_t address, void *ret, size_t size)
{
	return !symbolizer__code_bytes(of->sym, of->pid, address, ret, size);
}

/* The dynamic linker's word: it is data, which no file has. */
static uint64_t pointer_at(const struct code_of *of, uint64_t address)
{
	uint64_t ret;

	return apart__memory(of->pid, address, &ret, sizeof(ret)) == sizeof(ret) ? ret : 0;
}

#ifdef __aarch64__
/* A number of some bits, with its sign. */
static int64_t field(uint32_t insn, unsigned shift, unsigned bits)
{
	return (int64_t)((uint64_t)(insn >> shift) << (64 - bits)) >> (64 - bits);
}

/* adrp x16, PAGE; ldr x17, [x16, #LOW]; …, behind bti c where there is one */
static uint64_t through_plt(const struct code_of *of, uint64_t address)
{
	uint32_t code[3];
	const uint32_t *insn = code;
	uint64_t page;

	if (!read_code(of, address, code, sizeof(code)))
		return 0;
	if (*insn == 0xd503245f) {
		insn++;
		address += sizeof(*insn);
	}
	if ((insn[0] & 0x9f00001f) != 0x90000010 || (insn[1] & 0xffc003ff) != 0xf9400211)
		return address;
	page = (address & ~0xfffull) + ((field(insn[0], 5, 19) * 4 + (insn[0] >> 29 & 3)) << 12);
	return pointer_at(of, page + (insn[1] >> 10 & 0xfff) * 8);
}

uint64_t return_addresses__callee(const struct code_of *of, uint64_t address)
{
	uint32_t insn;

	if (!read_code(of, address - sizeof(insn), &insn, sizeof(insn)) ||
	    (insn & 0xfc000000) != 0x94000000)
		return 0;
	return through_plt(of, address - sizeof(insn) + field(insn, 0, 26) * 4);
}
#else
static int64_t displacement(const uint8_t *bytes)
{
	int32_t ret;

	memcpy(&ret, bytes, sizeof(ret));
	return ret;
}

/* jmp *DISPLACEMENT(%rip), behind endbr64 and with bnd before it where there is one */
static uint64_t through_plt(const struct code_of *of, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[11];
	size_t at = 0;

	if (!read_code(of, address, code, sizeof(code)))
		return address;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return address;
	return pointer_at(of, address + at + 6 + displacement(code + at + 2));
}

uint64_t return_addresses__callee(const struct code_of *of, uint64_t address)
{
	uint8_t code[CALL_BYTES];
	const uint8_t *disp = code + sizeof(code) - 4;

	if (!read_code(of, address - sizeof(code), code, sizeof(code)))
		return 0;
	if (disp[-1] == 0xe8)
		return through_plt(of, address + displacement(disp));
	if (disp[-2] == 0xff && disp[-1] == 0x15)
		return pointer_at(of, address + displacement(disp));
	return 0;
}
#endif

size_t return_addresses__keep(const struct code_of *of, uint64_t *addresses, size_t cnt)
{
	uint8_t code[CALL_BYTES];
	size_t kept = 0;

	for (size_t i = 0; i < cnt; i++)
		if (read_code(of, addresses[i] - CALL_BYTES, code, sizeof(code)) &&
		    is_behind_call(code))
			addresses[kept++] = addresses[i];
	return kept;
}
