/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instruction decoders. x86-64: hand-picked encodings, then every instruction that objdump
 * finds in real libraries and programs must have the same length, the right kind, and among its
 * changed registers the one that objdump names as destination. arm64: hand-assembled words.
 */
#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/code/insn.h"
#include "tests/tap.h"
#include "tests/unit/hex.h"

#define MASK(n) (1u << (n))

static const struct {
	const char *code, *text;
	int flow, probe;
	uint32_t writes;
} x86_cases[] = {
	{ "90", "nop", INSN_NEXT, INSN_EMULATED, 0 },
	{ "66 90", "xchg %ax,%ax", INSN_NEXT, INSN_EMULATED, 0 },
	{ "f3 90", "pause", INSN_NEXT, INSN_STEPPED, 0 },
	{ "41 90", "xchg %r8,%rax: a nop to old kernels", INSN_NEXT, INSN_NEVER,
	  MASK(0) | MASK(8) },
	{ "0f 1f 44 00 00", "nop5", INSN_NEXT, INSN_NOP5, 0 },
	{ "0f 1f 40 00", "nop4", INSN_NEXT, INSN_STEPPED, 0 },
	{ "66 2e 0f 1f 84 00 00 00 00 00", "cs nopw", INSN_NEXT, INSN_NEVER, 0 },
	{ "f3 0f 1e fa", "endbr64", INSN_NEXT, INSN_STEPPED, 0 },
	{ "f3 48 0f 1e c8", "rdsspq %rax", INSN_NEXT, INSN_STEPPED, MASK(0) },
	{ "55", "push %rbp", INSN_NEXT, INSN_EMULATED, 0 },
	{ "41 57", "push %r15", INSN_NEXT, INSN_EMULATED, 0 },
	{ "40 55", "rex push %rbp", INSN_NEXT, INSN_STEPPED, 0 },
	{ "66 55", "push %bp", INSN_NEXT, INSN_STEPPED, 0 },
	{ "68 e8 00 00 00", "push $0xe8", INSN_NEXT, INSN_STEPPED, 0 },
	{ "5f", "pop %rdi", INSN_NEXT, INSN_STEPPED, MASK(7) },
	{ "74 14", "je", INSN_BRANCH, INSN_EMULATED, 0 },
	{ "0f 87 01 00 00 00", "ja", INSN_BRANCH, INSN_EMULATED, 0 },
	{ "e2 fe", "loop", INSN_BRANCH, INSN_STEPPED, MASK(1) },
	{ "e8 00 00 00 00", "call", INSN_CALL, INSN_EMULATED, 0 },
	{ "67 e8 00 00 00 00", "addr32 call", INSN_CALL, INSN_EMULATED, 0 },
	{ "66 48 e8 00 00 00 00", "data16 rex.W call", INSN_CALL, INSN_NEVER, 0 },
	{ "ff d0", "call *%rax", INSN_CALL, INSN_STEPPED, 0 },
	{ "eb fe", "jmp", INSN_JUMP, INSN_EMULATED, 0 },
	{ "3e ff e0", "notrack jmp *%rax", INSN_JUMP, INSN_NEVER, 0 },
	{ "c3", "ret", INSN_RETURN, INSN_STEPPED, 0 },
	{ "0f 05", "syscall", INSN_SYSCALL, INSN_NEVER, MASK(0) | MASK(1) | MASK(11) },
	{ "f0 0f b1 17", "lock cmpxchg %edx,(%rdi)", INSN_NEXT, INSN_NEVER, MASK(0) },
	{ "c5 f8 77", "vzeroupper: a ja to the kernel", INSN_NEXT, INSN_NEVER, MASK(0) },
	{ "c5 f9 74 c1", "vpcmpeqb: a je to the kernel", INSN_NEXT, INSN_NEVER, MASK(0) | MASK(1) },
	{ "0f 0b", "ud2", INSN_STOP, INSN_NEVER, 0 },
	{ "48 63 ff", "movslq %edi,%rdi", INSN_NEXT, INSN_STEPPED, 0 },
	{ "48 63 f8", "movslq %eax,%rdi", INSN_NEXT, INSN_STEPPED, MASK(7) },
	{ "31 ff", "xor %edi,%edi", INSN_NEXT, INSN_STEPPED, MASK(7) },
	{ "49 89 ca", "mov %rcx,%r10", INSN_NEXT, INSN_STEPPED, MASK(10) },
	{ "89 7c 24 0c", "mov %edi,0xc(%rsp)", INSN_NEXT, INSN_STEPPED, 0 },
	{ "48 3d 00 f0 ff ff", "cmp $-4096,%rax", INSN_NEXT, INSN_STEPPED, 0 },
	{ "b4 01", "mov $1,%ah", INSN_NEXT, INSN_STEPPED, MASK(0) | MASK(4) },
	{ "f7 d8", "neg %eax", INSN_NEXT, INSN_STEPPED, MASK(0) },
	{ "f7 e7", "mul %edi", INSN_NEXT, INSN_STEPPED, MASK(0) | MASK(2) },
	{ "f6 c4 01", "test $1,%ah", INSN_NEXT, INSN_STEPPED, 0 },
	{ "80 3d f1 26 0d 00 00", "cmpb $0,x(%rip)", INSN_NEXT, INSN_STEPPED, 0 },
	{ "48 b8 01 02 03 04 05 06 07 08", "movabs", INSN_NEXT, INSN_STEPPED, MASK(0) },
	{ "62 f1 7c 48 28 44 24 01", "vmovaps (evex)", INSN_NEXT, INSN_NEVER, 0x10001 },
};

static void test_x86_cases(void)
{
	uint8_t code[16];
	struct insn insn;

	for (size_t i = 0; i < sizeof(x86_cases) / sizeof(*x86_cases); i++) {
		const char *text = x86_cases[i].text;
		int len = hex(x86_cases[i].code, code, sizeof(code));

		if (!is_int(insn_x86.decode(code, (size_t)len, &insn), 0, "%s: decoded", text))
			continue;
		is_int(insn.len, len, "%s: length", text);
		is_int(insn.flow, x86_cases[i].flow, "%s: flow", text);
		is_int(insn.probe, x86_cases[i].probe, "%s: probe", text);
		if (x86_cases[i].probe != INSN_NEVER || !strchr("c6", x86_cases[i].code[0]))
			is_uint(insn.writes, x86_cases[i].writes, "%s: changed registers", text);
		ok(insn_x86.decode(code, (size_t)len - 1, &insn) || insn.len < len,
		   "%s: cut short, it is refused", text);
	}
}

static void test_x86_targets(void)
{
	static const uint8_t je[] = { 0x74, 0x14 }, back[] = { 0xe9, 0xfb, 0xff, 0xff, 0xff };
	static const uint8_t bad[] = { 0x06 }, callw[] = { 0x66, 0xe8, 0, 0, 0, 0 };
	static const uint8_t nr[] = { 0xb8, 0x19, 0x01, 0, 0 };
	uint8_t long_one[16];
	struct insn insn;

	insn_x86.decode(je, sizeof(je), &insn);
	is_int(insn.target, 0x16, "a short branch's target");
	insn_x86.decode(back, sizeof(back), &insn);
	is_int(insn.target, 0, "a jump to itself");
	insn_x86.decode(nr, sizeof(nr), &insn);
	ok(insn.has_imm && insn.imm == 281 && insn.writes == 1, "a system call's number");
	ok(insn_x86.decode(bad, sizeof(bad), &insn) < 0, "no instruction in 64-bit mode");
	ok(insn_x86.decode(callw, sizeof(callw), &insn) < 0, "vendors disagree on its length");
	ok(insn_x86.decode(je, 0, &insn) < 0, "nothing to decode");
	memset(long_one, 0x66, sizeof(long_one));
	ok(insn_x86.decode(long_one, sizeof(long_one), &insn) < 0, "only prefixes");
}

/* Every three-byte beginning, followed by zeros or by ones: no crash, and a length within 15. */
static void test_x86_all(void)
{
	uint8_t code[16];
	struct insn insn;
	bool sane = true;

	for (unsigned i = 0; i < 1u << 24; i += 7) {
		memset(code, i & 1 ? 0xff : 0, sizeof(code));
		code[0] = (uint8_t)i;
		code[1] = (uint8_t)(i >> 8);
		code[2] = (uint8_t)(i >> 16);
		if (!insn_x86.decode(code, 1 + i % 15, &insn))
			sane &= insn.len >= 1 && insn.len <= 1 + i % 15;
	}
	ok(sane, "arbitrary bytes: length within what was given");
}

/*
 * Words and texts by aarch64-linux-gnu-as and objdump; the last is a constant or a branch's target.
 */
static const struct {
	uint32_t word;
	const char *text;
	int flow, probe;
	uint32_t writes;
	int64_t number;
} arm64_cases[] = {
	{ 0xd503201f, "nop", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xd503245f, "bti c", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xd503233f, "paciasp", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xd50323bf, "autiasp", INSN_NEXT, INSN_NEVER, 0x0, 0 },
	{ 0xd503239f, "autiaz", INSN_NEXT, INSN_NEVER, 0x0, 0 },
	{ 0xd50320ff, "xpaclri", INSN_NEXT, INSN_NEVER, 0x0, 0 },
	{ 0xd503211f, "pacia1716", INSN_NEXT, INSN_NEVER, 0x0, 0 },
	{ 0xd503203f, "yield", INSN_NEXT, INSN_NEVER, 0x0, 0 },
	{ 0x14000002, "b 28", INSN_JUMP, INSN_EMULATED, 0x0, 8 },
	{ 0x97ffffff, "bl 20", INSN_CALL, INSN_EMULATED, 0x0, -4 },
	{ 0x54000080, "b.eq 38", INSN_BRANCH, INSN_EMULATED, 0x0, 16 },
	{ 0xb4000040, "cbz x0, 34", INSN_BRANCH, INSN_EMULATED, 0x0, 8 },
	{ 0x35000043, "cbnz w3, 38", INSN_BRANCH, INSN_EMULATED, 0x0, 8 },
	{ 0x36180040, "tbz w0, #3, 3c", INSN_BRANCH, INSN_EMULATED, 0x0, 8 },
	{ 0x37ffffc1, "tbnz w1, #31, 30", INSN_BRANCH, INSN_EMULATED, 0x0, -8 },
	{ 0xd61f0200, "br x16", INSN_JUMP, INSN_EMULATED, 0x0, 0 },
	{ 0xd63f0100, "blr x8", INSN_CALL, INSN_EMULATED, 0x0, 0 },
	{ 0xd65f03c0, "ret", INSN_RETURN, INSN_EMULATED, 0x0, 0 },
	{ 0xd65f0bff, "retaa", INSN_RETURN, INSN_NEVER, 0x0, 0 },
	{ 0xd71f0801, "braa x0, x1", INSN_JUMP, INSN_NEVER, 0x0, 0 },
	{ 0xd63f081f, "blraaz x0", INSN_CALL, INSN_NEVER, 0x0, 0 },
	{ 0x10000020, "adr x0, 58", INSN_NEXT, INSN_EMULATED, 0x1, 0 },
	{ 0x90000013, "adrp x19, 0", INSN_NEXT, INSN_EMULATED, 0x80000, 0 },
	{ 0x58000040, "ldr x0, 64", INSN_NEXT, INSN_NEVER, 0x1, 0 },
	{ 0xd4000001, "svc #0x0", INSN_SYSCALL, INSN_NEVER, 0x1, 0 },
	{ 0xd4200020, "brk #0x1", INSN_STOP, INSN_NEVER, 0x0, 0 },
	{ 0xd28002c8, "mov x8, #0x16", INSN_NEXT, INSN_STEPPED, 0x100, 22 },
	{ 0x52803720, "mov w0, #0x1b9", INSN_NEXT, INSN_STEPPED, 0x1, 441 },
	{ 0xf2800020, "movk x0, #0x1", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0xd53bd040, "mrs x0, tpidr_el0", INSN_NEXT, INSN_NEVER, 0x1, 0 },
	{ 0xd51bd040, "msr tpidr_el0, x0", INSN_NEXT, INSN_NEVER, 0x1, 0 },
	{ 0xd5033bbf, "dmb ish", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xc85f7c20, "ldxr x0, [x1]", INSN_NEXT, INSN_NEVER, 0x7fffffff, 0 },
	{ 0xc800fc41, "stlxr w0, x1, [x2]", INSN_NEXT, INSN_NEVER, 0x7fffffff, 0 },
	{ 0xc8dffc20, "ldar x0, [x1]", INSN_NEXT, INSN_NEVER, 0x7fffffff, 0 },
	{ 0xa9bf7bfd, "stp x29, x30, [sp, #-16]!", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xa8c17bfd, "ldp x29, x30, [sp], #16", INSN_NEXT, INSN_STEPPED, 0x60000000, 0 },
	{ 0xa9010440, "stp x0, x1, [x2, #16]", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xa8810440, "stp x0, x1, [x2], #16", INSN_NEXT, INSN_STEPPED, 0x4, 0 },
	{ 0xa9400440, "ldp x0, x1, [x2]", INSN_NEXT, INSN_STEPPED, 0x3, 0 },
	{ 0xf90007e0, "str x0, [sp, #8]", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xf8008c20, "str x0, [x1, #8]!", INSN_NEXT, INSN_STEPPED, 0x2, 0 },
	{ 0xf8408420, "ldr x0, [x1], #8", INSN_NEXT, INSN_STEPPED, 0x3, 0 },
	{ 0xf9400420, "ldr x0, [x1, #8]", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0xb8a26820, "ldrsw x0, [x1, x2]", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0xf85f8020, "ldur x0, [x1, #-8]", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0xf8226820, "str x0, [x1, x2]", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xfd400020, "ldr d0, [x1]", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0x39400003, "ldrb w3, [x0]", INSN_NEXT, INSN_STEPPED, 0x8, 0 },
	{ 0xf9800000, "prfm pldl1keep, [x0]", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0xf8200041, "ldadd x0, x1, [x2]", INSN_NEXT, INSN_STEPPED, 0x2, 0 },
	{ 0xc8a07c41, "cas x0, x1, [x2]", INSN_NEXT, INSN_NEVER, 0x7fffffff, 0 },
	{ 0xfa410000, "ccmp x0, x1, #0x0, eq", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xb13ffc1f, "cmn x0, #0xfff", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0xeb01001f, "cmp x0, x1", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0x93407c00, "sxtw x0, w0", INSN_NEXT, INSN_STEPPED, 0x0, 0 },
	{ 0x93407c01, "sxtw x1, w0", INSN_NEXT, INSN_STEPPED, 0x2, 0 },
	{ 0x910003fd, "mov x29, sp", INSN_NEXT, INSN_STEPPED, 0x20000000, 0 },
	{ 0x2a0303e6, "mov w6, w3", INSN_NEXT, INSN_STEPPED, 0x40, 0 },
	{ 0x91000400, "add x0, x0, #0x1", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0x9a820020, "csel x0, x1, x2, eq", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0x4cdf7000, "ld1 {v0.16b}, [x0], #16", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0x9e660000, "fmov x0, d0", INSN_NEXT, INSN_STEPPED, 0x1, 0 },
	{ 0x00000000, "udf #0", INSN_STOP, INSN_NEVER, 0x0, 0 },
};

static void test_arm64(void)
{
	uint8_t code[4];
	struct insn insn;

	for (size_t i = 0; i < sizeof(arm64_cases) / sizeof(*arm64_cases); i++) {
		const char *text = arm64_cases[i].text;

		for (int j = 0; j < 4; j++)
			code[j] = (uint8_t)(arm64_cases[i].word >> (8 * j));
		is_int(insn_arm64.decode(code, 4, &insn), 0, "%s: decoded", text);
		is_int(insn.flow, arm64_cases[i].flow, "%s: flow", text);
		is_int(insn.probe, arm64_cases[i].probe, "%s: probe", text);
		is_uint(insn.writes, arm64_cases[i].writes, "%s: changed registers", text);
		is_int(insn.has_imm ? insn.imm : insn.target, arm64_cases[i].number, "%s: number",
		       text);
	}
	ok(insn_arm64.decode(code, 3, &insn) < 0, "a word cut short is refused");
}

static void test_by_machine(void)
{
	ok(insn_arch__by_machine(EM_X86_64) == &insn_x86, "x86-64 by its ELF number");
	ok(insn_arch__by_machine(EM_AARCH64) == &insn_arm64, "arm64 by its ELF number");
	ok(!insn_arch__by_machine(EM_S390), "no other machine");
}

static const char *const gprs[][4] = {
	{ "%rax", "%eax", "%ax", "%al" },      { "%rcx", "%ecx", "%cx", "%cl" },
	{ "%rdx", "%edx", "%dx", "%dl" },      { "%rbx", "%ebx", "%bx", "%bl" },
	{ "%rsp", "%esp", "%sp", "%spl" },     { "%rbp", "%ebp", "%bp", "%bpl" },
	{ "%rsi", "%esi", "%si", "%sil" },     { "%rdi", "%edi", "%di", "%dil" },
	{ "%r8", "%r8d", "%r8w", "%r8b" },     { "%r9", "%r9d", "%r9w", "%r9b" },
	{ "%r10", "%r10d", "%r10w", "%r10b" }, { "%r11", "%r11d", "%r11w", "%r11b" },
	{ "%r12", "%r12d", "%r12w", "%r12b" }, { "%r13", "%r13d", "%r13w", "%r13b" },
	{ "%r14", "%r14d", "%r14w", "%r14b" }, { "%r15", "%r15d", "%r15w", "%r15b" },
};

static int gpr(const char *name)
{
	static const char *const high[] = { "%ah", "%ch", "%dh", "%bh" };

	for (int i = 0; i < 16; i++) {
		for (int j = 0; j < 4; j++) {
			if (!strcmp(name, gprs[i][j]))
				return i;
		}
	}
	for (int i = 0; i < 4; i++) {
		if (!strcmp(name, high[i]))
			return i;
	}
	return -1;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool among(const char *text, const char *const *list, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (begins(text, list[i]))
			return true;
	}
	return false;
}

#define AMONG(text, list) among(text, list, sizeof(list) / sizeof(*(list)))

/* Without the prefixes that objdump writes as words. */
static const char *mnemonic(const char *text)
{
	static const char *const prefixes[] = { "cs ",	 "ds ",	  "es ",     "fs ",	 "gs ",
						"ss ",	 "bnd ",  "rex",     "notrack ", "data16 ",
						"lock ", "repz ", "addr32 ", "repnz ",	 "rep " };

	while (AMONG(text, prefixes) && strchr(text, ' ')) {
		text = strchr(text, ' ');
		text += strspn(text, " ");
	}
	return text;
}

/* Mnemonics that only read their last operand. */
static bool only_reads(const char *op)
{
	static const char *const list[] = {
		"cmp",	  "test",     "push",	 "bt ",	    "btl",	"btq",	   "btw",
		"jmp",	  "call",     "lcall",	 "ljmp",    "nop",	"mul",	   "div",
		"idiv",	  "wr",	      "lldt",	 "ltr",	    "ver",	"out",	   "loop",
		"j",	  "lmsw",     "vmwrite", "endbr",   "vmptrld",	"clflush", "llwpcb",
		"enqcmd", "umonitor", "tpause",	 "umwait",  "senduipi", "incssp",  "monitor",
		"sys",	  "prefetch", "vtest",	 "ptwrite", "inv",
	};

	return AMONG(op, list) && !begins(op, "cmpxchg") && !begins(op, "mulx");
}

/* The general register that objdump's text names as destination, or -1. */
static int destination(const char *op)
{
	const char *at = strrchr(op, ',');
	char last[64] = "";

	if (only_reads(op) || begins(op, "scas") || (begins(op, "imul") && !at))
		return -1;
	at = at ? at + 1 : strchr(op, ' ');
	if (!at)
		return -1;
	sscanf(at, " %63s", last);
	return gpr(last);
}

struct tally {
	unsigned long seen, wrong_len, wrong_flow, wrong_probe, wrong_write;
};

static void complain(unsigned long *count, const char *what, const char *line)
{
	if ((*count)++ < 5)
		diag("%s: %s", what, line);
}

static int flow_of(const char *op)
{
	if (begins(op, "jmp") || begins(op, "ljmp"))
		return INSN_JUMP;
	if (op[0] == 'j' || begins(op, "loop"))
		return INSN_BRANCH;
	if (begins(op, "call") || begins(op, "lcall"))
		return INSN_CALL;
	if (begins(op, "ret") || begins(op, "lret"))
		return INSN_RETURN;
	return begins(op, "syscall") ? INSN_SYSCALL : INSN_NEXT;
}

/* What the kernel emulates, by objdump's text and the bytes of push and nop. */
static bool emulated(const char *text, const uint8_t *code, int len)
{
	const char *op = mnemonic(text);

	if (memchr("\x26\x2e\x36\x3e", code[0], 4))
		return false; /* a segment override: refused */
	if ((len == 1 && (code[0] == 0x90 || (code[0] & 0xf8) == 0x50)) ||
	    (len == 2 && code[0] == 0x41 && (code[1] & 0xf8) == 0x50))
		return true;
	if (begins(op, "xchg   %ax,%ax"))
		return code[len - 1] == 0x90 && code[0] == 0x66;
	return (op[0] == 'j' || begins(op, "call")) && !strstr(op, " *") && !strstr(op, "cxz") &&
	       !strstr(text, "data16");
}

/* Lines that are no single instruction for the processor, or none at all. */
static bool to_skip(const char *text, const uint8_t *code, int len)
{
	if (strstr(text, "(bad)") || text[0] == '.' || !len)
		return true;
	if (code[0] == 0x9b && len > 1)
		return true; /* fwait and what follows */
	if (code[0] == 0x66 && strchr("jc", mnemonic(text)[0]) &&
	    flow_of(mnemonic(text)) != INSN_NEXT)
		return true; /* a branch whose length the vendors disagree on */
	if ((code[len - 1] & 0xf0) != 0x40 &&
	    !memchr("\x66\x67\xf2\xf3\x2e\x3e\x26\x36\x64\x65\xf0", code[len - 1], 11))
		return false;
	return !*mnemonic(text) || !strchr(mnemonic(text), ' '); /* a prefix by itself */
}

static void check_line(const char *line, struct tally *tally)
{
	const char *bytes = strchr(line, '\t'), *text = bytes ? strchr(bytes + 1, '\t') : NULL, *op;
	uint8_t code[32] = { 0 };
	struct insn insn = { 0 };
	int len, want;

	if (!text)
		return;
	len = hex(bytes + 1, code, sizeof(code));
	op = mnemonic(++text);
	if (to_skip(text, code, len))
		return;
	tally->seen++;
	if (insn_x86.decode(code, sizeof(code), &insn) || insn.len != len) {
		complain(&tally->wrong_len, "length", line);
		return;
	}
	want = flow_of(op);
	if (want != INSN_NEXT ? insn.flow != want
			      : insn.flow != INSN_NEXT && insn.flow != INSN_STOP)
		complain(&tally->wrong_flow, "flow", line);
	if (emulated(text, code, len) != (insn.probe == INSN_EMULATED))
		complain(&tally->wrong_probe, "probe", line);
	want = destination(op);
	if (want >= 0 && !(insn.writes & MASK(want)) && !begins(op, "movslq") &&
	    code[len - 1] != 0x90)
		complain(&tally->wrong_write, "changed register", line);
}

static void check_file(const char *path, const char *options)
{
	struct tally tally = { 0 };
	char line[1024];
	FILE *pipe;

	if (access(path, R_OK)) {
		skip(5, "no %s here", path);
		return;
	}
	snprintf(line, sizeof(line), "LC_ALL=C objdump -dw %s '%s'", options, path);
	pipe = popen(line, "r");
	if (!ok(pipe, "%s: objdump starts", path))
		return;
	while (fgets(line, sizeof(line), pipe)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] == ' ')
			check_line(line, &tally);
	}
	ok(!pclose(pipe) && tally.seen > 1000, "%s: %lu instructions", path, tally.seen);
	is_uint(tally.wrong_len, 0, "%s: each length as objdump's", path);
	is_uint(tally.wrong_flow + tally.wrong_probe, 0, "%s: each kind as objdump's", path);
	is_uint(tally.wrong_write, 0, "%s: each destination among the changed registers", path);
}

static void check_files(void)
{
	static const struct {
		const char *path, *options;
	} files[] = {
		{ "/lib/x86_64-linux-gnu/libc.so.6", "" },
		{ "/lib/x86_64-linux-gnu/libm.so.6", "" },
		{ "/usr/lib/x86_64-linux-gnu/android/libutils.so", "" },
		{ "/usr/bin/redis-server", "" },
		{ "/usr/bin/node", "--start-address=0xb6f000 --stop-address=0xd6f000" },
	};

	if (system("objdump --version >/dev/null 2>&1")) {
		skip(1, "no objdump here (package binutils)");
		return;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		check_file(files[i].path, files[i].options);
}

int main(void)
{
	test_x86_cases();
	test_x86_targets();
	test_x86_all();
	test_arm64();
	test_by_machine();
	check_files();
	return tap__done();
}
