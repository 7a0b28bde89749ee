/* SPDX-License-Identifier: GPL-2.0 */
/* Looks at the code before each address. */
#include "app/return_addresses.h"

#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#define BATCH 64

#ifdef __aarch64__
bool is_behind_call(const uint8_t *code)
{
	uint32_t insn;

	memcpy(&insn, code + CALL_BYTES - sizeof(insn), sizeof(insn));
	return (insn & 0xfc000000) == 0x94000000 || /* bl */
	       (insn & 0xfffffc1f) == 0xd63f0000 || /* blr */
	       (insn & 0xfefff800) == 0xd63f0800;   /* blraa and its kin */
}
#else
/* call *REG or *MEMORY: ff /2, the length by its addressing form */
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
