/* SPDX-License-Identifier: GPL-2.0 */
/* Looks at the code before each address. */
#include "app/return_addresses.h"

#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#define BATCH 64

static bool read_at(uint32_t pid, uint64_t address, void *ret, size_t size)
{
	struct iovec local = { ret, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static uint64_t pointer_at(uint32_t pid, uint64_t address)
{
	uint64_t ret;

	return read_at(pid, address, &ret, sizeof(ret)) ? ret : 0;
}

#ifdef __aarch64__
/* A number of some bits, with its sign. */
static int64_t field(uint32_t insn, unsigned shift, unsigned bits)
{
	return (int64_t)((uint64_t)(insn >> shift) << (64 - bits)) >> (64 - bits);
}

/* adrp x16, PAGE; ldr x17, [x16, #LOW]; …, behind bti c where there is one */
static uint64_t through_plt(uint32_t pid, uint64_t address)
{
	uint32_t code[3];
	const uint32_t *insn = code;
	uint64_t page;

	if (!read_at(pid, address, code, sizeof(code)))
		return 0;
	if (*insn == 0xd503245f) {
		insn++;
		address += sizeof(*insn);
	}
	if ((insn[0] & 0x9f00001f) != 0x90000010 || (insn[1] & 0xffc003ff) != 0xf9400211)
		return address;
	page = (address & ~0xfffull) + ((field(insn[0], 5, 19) * 4 + (insn[0] >> 29 & 3)) << 12);
	return pointer_at(pid, page + (insn[1] >> 10 & 0xfff) * 8);
}

uint64_t return_addresses__callee(uint32_t pid, uint64_t address)
{
	uint32_t insn;

	if (!read_at(pid, address - sizeof(insn), &insn, sizeof(insn)) ||
	    (insn & 0xfc000000) != 0x94000000)
		return 0;
	return through_plt(pid, address - sizeof(insn) + field(insn, 0, 26) * 4);
}
#else
static int64_t displacement(const uint8_t *bytes)
{
	int32_t ret;

	memcpy(&ret, bytes, sizeof(ret));
	return ret;
}

/* jmp *DISPLACEMENT(%rip), behind endbr64 and with bnd before it where there is one */
static uint64_t through_plt(uint32_t pid, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[11];
	size_t at = 0;

	if (!read_at(pid, address, code, sizeof(code)))
		return address;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return address;
	return pointer_at(pid, address + at + 6 + displacement(code + at + 2));
}

uint64_t return_addresses__callee(uint32_t pid, uint64_t address)
{
	uint8_t code[CALL_BYTES];
	const uint8_t *disp = code + sizeof(code) - 4;

	if (!read_at(pid, address - sizeof(code), code, sizeof(code)))
		return 0;
	if (disp[-1] == 0xe8)
		return through_plt(pid, address + displacement(disp));
	if (disp[-2] == 0xff && disp[-1] == 0x15)
		return pointer_at(pid, address + displacement(disp));
	return 0;
}
#endif

/* Reads the code before as many addresses as it can; an unreadable one ends it. Returns how many. */
static size_t read_code(uint32_t pid, const uint64_t *addresses, size_t cnt,
			uint8_t code[][CALL_BYTES])
{
	struct iovec local = { code, cnt * CALL_BYTES }, remote[BATCH];
	ssize_t n;

	for (size_t i = 0; i < cnt; i++)
		remote[i] = (struct iovec){ (void *)(uintptr_t)(addresses[i] - CALL_BYTES),
					    CALL_BYTES };
	n = process_vm_readv(pid, &local, 1, remote, cnt, 0);
	return n > 0 ? (size_t)n / CALL_BYTES : 0;
}

size_t return_addresses__keep(uint32_t pid, uint64_t *addresses, size_t cnt)
{
	uint8_t code[BATCH][CALL_BYTES];
	size_t kept = 0, got;

	for (size_t i = 0; i < cnt; i += got ? got : 1) {
		got = read_code(pid, addresses + i, cnt - i < BATCH ? cnt - i : BATCH, code);
		for (size_t j = 0; j < got; j++)
			if (is_behind_call(code[j]))
				addresses[kept++] = addresses[i + j];
	}
	return kept;
}
