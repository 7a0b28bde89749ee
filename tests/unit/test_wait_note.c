/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which words are return addresses: by the forms of a call instruction, and on this program's own
 * stack.
 */
#include "catalogue/wait_note.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/caller.h"
#include "tests/unit/hex.h"

struct form {
	uint16_t machine;
	const char *hex, *what;
	bool call;
};

static const struct form forms[] = {
	{ EM_AARCH64, "1f2003d5 10000094", "bl", true },
	{ EM_AARCH64, "1f2003d5 00003fd6", "blr x0", true },
	{ EM_AARCH64, "1f2003d5 c0033fd6", "blr x30", true },
	{ EM_AARCH64, "1f2003d5 1f083fd6", "blraaz x0", true },
	{ EM_AARCH64, "1f2003d5 10000014", "b", false },
	{ EM_AARCH64, "1f2003d5 00001fd6", "br x0", false },
	{ EM_AARCH64, "10000094 1f2003d5", "bl, nop", false },
	{ EM_AARCH64, "1f2003d5 c0035fd6", "ret", false },
	{ EM_AARCH64, "00000000 00000000", "nothing", false },
	{ EM_ARM, "0000a0e1 100000eb", "arm: bl", true },
	{ EM_ARM, "0000a0e1 1000000b", "arm: bleq", true },
	{ EM_ARM, "0000a0e1 100000fa", "arm: blx to Thumb code", true },
	{ EM_ARM, "0000a0e1 33ff2fe1", "arm: blx r3", true },
	{ EM_ARM, "0000a0e1 100000ea", "arm: b", false },
	{ EM_ARM, "0000a0e1 1eff2fe1", "arm: bx lr", false },
	{ EM_ARM, "000000ef 00f020e3", "arm: nop", false },
	{ EM_ARM, "00bf00bf 00f010f8", "Thumb: bl", true },
	{ EM_ARM, "00bf00bf fff710ff", "Thumb: bl, backwards", true },
	{ EM_ARM, "00bf00bf 00f010e8", "Thumb: blx to arm code", true },
	{ EM_ARM, "00bf00bf 00bf9847", "Thumb: blx r3", true },
	{ EM_ARM, "00bf00bf 00bf7047", "Thumb: bx lr", false },
	{ EM_ARM, "00bf00bf 00bf00bf", "Thumb: nop", false },
	{ EM_ARM, "00000000 00000000", "nothing", false },
	{ EM_X86_64, "909090 e810000000", "call", true },
	{ EM_X86_64, "9090909090 90ffd0", "call *%rax", true },
	{ EM_X86_64, "90909090 9041ffd4", "call *%r12", true },
	{ EM_X86_64, "9090909090 ff5310", "call *16(%rbx)", true },
	{ EM_X86_64, "90909090 ff542408", "call *8(%rsp)", true },
	{ EM_X86_64, "90 ff9424a0000000", "call *160(%rsp)", true },
	{ EM_X86_64, "9090 ff1510000000", "call *16(%rip)", true },
	{ EM_386, "90 ff14c510000000", "call *16(,%eax,8)", true },
	{ EM_386, "9090909090 90ff13", "call *(%ebx)", true },
	{ EM_X86_64, "909090909090 ffe0", "jmp *%rax", false },
	{ EM_X86_64, "909090 e910000000", "jmp", false },
	{ EM_X86_64, "9090909090909090", "nop", false },
	{ EM_X86_64, "9090909090 ff1590", "a truncated call", false },
	{ EM_X86_64, "0000000000000000", "nothing", false },
	{ EM_MIPS, "909090 e810000000", "a call, on a machine that is not known", false },
};

static void test_forms(void)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		uint8_t code[CALL_BYTES] = {};
		size_t cnt = hex(forms[i].hex, code, sizeof(code));

		ok(cnt == CALL_BYTES && is_behind_call(forms[i].machine, code) == forms[i].call,
		   "%s", forms[i].what);
	}
}

static __attribute__((noinline)) uint64_t where_from(void)
{
	return CALLED_FROM();
}

/* Real ones among other words, and among addresses in anonymous memory. */
static void test_code(struct symbolizer *sym)
{
	uint64_t page = sysconf(_SC_PAGESIZE), words[200];
	char *gone = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct code_of of = { sym, getpid() };
	size_t want = 0, kept;
	bool right = true;

	for (size_t i = 0; i < 200; i++) {
		if (i % 3 == 0) {
			words[i] = where_from();
			want++;
		} else {
			words[i] = i % 3 == 1 ? (uintptr_t)gone + 64 : (uintptr_t)test_code + 4;
		}
	}
	kept = return_addresses__keep(&of, words, 200);
	is_uint(kept, want, "return addresses stay");
	for (size_t i = 0; i < kept && i < want; i++)
		right &= words[i] == words[0];
	ok(right, "and no other");
	is_uint(return_addresses__keep(&of, words, 0), 0, "without words there are none");
	munmap(gone, page);
}

int main(void)
{
	const struct symbolizer_opts opts = { .kallsyms = "" };
	struct symbolizer *sym = NULL;
	struct err err = {};

	test_forms();
	if (symbolizer__new(&opts, &sym, &err) || symbolizer__process(sym, getpid(), &err))
		ok(false, "names: %s", err.msg);
	else
		test_code(sym);
	symbolizer__free(sym);
	return tap__done();
}
